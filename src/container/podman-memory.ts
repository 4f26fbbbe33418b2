import { createHash } from "node:crypto";
import type { Log } from "../core/log.ts";
import type { PrivateFolder } from "../core/private-folder.ts";
import { type EngineFacts, record } from "./facts.ts";
import type { Trust } from "./handing-down.ts";
import { parseJson } from "./parse-json.ts";

/** What is known about a podman from earlier runs of the bridge. */
export interface Recollection {
  readonly facts: EngineFacts;
  /** The OCI runtime that gave a first byte where another had not; `null` for the default, absent when none is known. */
  readonly ociRuntime?: string | null;
  /** Whether containers that get descriptors of the client begin. */
  readonly handsDown?: Trust;
}

/** Goes into the stamp: what an older bridge kept has another form. */
const FORMAT = 1;

/** Keeps what was learnt about one podman, as long as its stamp is the same. Losing it only costs time. */
export class PodmanMemory {
  readonly #cache: PrivateFolder;
  readonly #file: string;
  readonly #stamp: string;
  readonly #log: Log;

  constructor(cache: PrivateFolder, executable: string, stamp: string, log: Log) {
    this.#cache = cache;
    this.#file = `podman-${createHash("sha256").update(executable).digest("hex").slice(0, 16)}.json`;
    this.#stamp = `${FORMAT} ${stamp}`;
    this.#log = log;
  }

  async recall(): Promise<Recollection | undefined> {
    const kept = record(parseJson((await this.#cache.read(this.#file)) ?? ""));
    return kept["stamp"] === this.#stamp ? (kept as unknown as Recollection) : undefined;
  }

  async keep(recollection: Recollection): Promise<void> {
    try {
      await this.#cache.write(this.#file, JSON.stringify({ stamp: this.#stamp, ...recollection }));
    } catch (error) {
      this.#log.debug("what was learnt about podman could not be kept", { error: String(error) });
    }
  }

  async forget(): Promise<void> {
    await this.#cache.remove(this.#file);
  }
}
