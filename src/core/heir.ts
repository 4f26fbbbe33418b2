import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { BoundedText } from "./bounded-text.ts";
import {
  type Child,
  type ChildExit,
  type ChildOptions,
  STDERR_TAIL_CHARS,
  withoutBunVariables,
} from "./child.ts";
import { withDeadline } from "./lifecycle.ts";
import { PipedChild } from "./piped-child.ts";
import { takeTurns } from "./turns.ts";

const DRAIN_MS = 1000;

const FIRST_INHERITED = 3;
/** How many descriptors a process of {@link startHeir} passes on, from 3 on: for input, output and error output. */
export const INHERITED = 3;

/**
 * Starts a process that hands three descriptors to another, its heir, and may end then. What is written and read here is the
 * heir's. `stderrText` has the words of both, but of the heir alone once the process has ended with code 0: what it warned of is
 * no reason for anything then. `exited` settles when nobody has the error output open any more and the process itself has ended,
 * with its code unless that is 0: of the heir none is known.
 */
export async function startHeir(options: Omit<ChildOptions, "onSpawn" | "onStderr">): Promise<Child> {
  const child = spawn(options.command, options.args, {
    env: withoutBunVariables(options.env),
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", "pipe"],
    detached: options.ownGroup === true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  // Where Bun loads for this what it needs, "spawn" may come before anybody can listen.
  if (child.pid === undefined) await once(child, "spawn");
  return new Heir(child, options.ownGroup === true);
}

class Heir extends PipedChild {
  readonly exited: Promise<ChildExit>;
  readonly #child: ChildProcess;
  readonly #input: Socket;
  readonly #output: Socket;
  readonly #errors: Socket;
  readonly #words = new BoundedText(STDERR_TAIL_CHARS);
  readonly #heirsWords = new BoundedText(STDERR_TAIL_CHARS);

  constructor(child: ChildProcess, ownGroup: boolean) {
    const [input, output, errors] = child.stdio.slice(FIRST_INHERITED) as unknown as [Socket, Socket, Socket];
    super(child, input, ownGroup);
    this.#child = child;
    this.#input = input;
    this.#output = output;
    this.#errors = errors;
    for (const stream of [input, output, errors]) stream.on("error", () => undefined); // its end says it
    input.resume(); // nothing comes, but else its end would not be seen either
    child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#words.append(text));
    errors.setEncoding("utf8").on("data", (text: string) => this.#heirsWords.append(text));
    this.exited = this.#waitForEnd(closeOf(errors), closeOf(output));
  }

  get stdout(): AsyncIterable<Uint8Array> {
    return takeTurns<Uint8Array>(this.#output);
  }

  stderrText(): string {
    const own = this.#child.exitCode === 0 ? "" : this.#words.toString();
    return `${own}${this.#heirsWords.toString()}`.trimEnd();
  }

  override kill(signal: NodeJS.Signals): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return; // it may be long ago, and its number another's by now
    super.kill(signal);
  }

  /** An heir cannot be killed from here; it loses its pipes. */
  protected override letGo(): void {
    for (const stream of [this.#input, this.#output, this.#errors]) stream.destroy();
  }

  protected endsWithin(ms: number): Promise<boolean> {
    return withDeadline(this.exited, ms, `process ${this.pid}`).then(
      () => true,
      () => false,
    );
  }

  async #waitForEnd(ended: Promise<void>, drained: Promise<void>): Promise<ChildExit> {
    const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    await ended;
    // Who reads may take a while; what was written gets a moment to arrive.
    await withDeadline(drained, DRAIN_MS, "draining the pipes").catch(() => this.#output.destroy());
    this.#input.destroy();
    return { code: code === 0 ? null : code, signal };
  }
}

/** Settles when a stream is closed; never rejects, as `once` does where a reader left it early. */
function closeOf(stream: Socket): Promise<void> {
  return new Promise((resolve) => stream.on("close", () => resolve()));
}
