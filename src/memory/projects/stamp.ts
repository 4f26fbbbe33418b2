import { type BigIntStats, lstatSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { isOnLocalDisk } from "../../core/local-disk.ts";
import type { CallerRoot } from "../root.ts";

/** Tells what was saved by others from a look at what a caller has. */
export class Stamp {
  readonly #paths: readonly string[];
  /** Whether a look costs less than a thread to look with, and cannot last; found out at the first. */
  #isLocal = false;
  #learning: Promise<void> | undefined;

  constructor({ projects, memories, toolsFile }: CallerRoot) {
    this.#paths = [projects, memories, toolsFile];
  }

  /** Another text as soon as another bridge has saved something: a memory, a tool, a file at the top. */
  async take(): Promise<string> {
    if (this.#isLocal) return this.#paths.map((path) => describe(lookNow(path))).join();
    this.#learning ??= this.#learn();
    const facts = this.#paths.map((path) => lstat(path, { bigint: true }).catch(() => undefined));
    return (await Promise.all(facts)).map(describe).join();
  }

  async #learn(): Promise<void> {
    const local = await Promise.all(this.#paths.map(isOnLocalDisk));
    this.#isLocal = !local.includes(false);
  }
}

function lookNow(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // who needs the files is told
  }
}

function describe(facts: BigIntStats | undefined): string {
  return facts === undefined ? "-" : `${facts.ino}-${facts.mtimeNs}`;
}
