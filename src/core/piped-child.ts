import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import type { Child, ChildExit } from "./child.ts";
import { JoinedWrites } from "./joined-writes.ts";

const TERM_GRACE_MS = 1000;

/** What every {@link Child} does alike, whoever has its pipes: it is written to, signalled and stopped. */
export abstract class PipedChild implements Child {
  readonly pid: number;
  abstract readonly exited: Promise<ChildExit>;
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #ownGroup: boolean;
  readonly #writes: JoinedWrites;
  #stopping: Promise<ChildExit> | undefined;

  constructor(child: ChildProcess, input: Writable, ownGroup: boolean) {
    this.pid = child.pid ?? -1;
    this.#child = child;
    this.#input = input;
    this.#ownGroup = ownGroup;
    this.#writes = new JoinedWrites((bytes) => writeTo(input, bytes));
  }

  abstract get stdout(): AsyncIterable<Uint8Array>;

  abstract stderrText(): string;

  /** Whether it ends before `ms` are over; what counts as its end is the child's to say. */
  protected abstract endsWithin(ms: number): Promise<boolean>;

  /** Called between the end of its input that it did not heed and SIGKILL. */
  protected letGo(): void {}

  write(bytes: Uint8Array | string): Promise<void> {
    if (!this.#input.writable) return Promise.reject(new Error("the process has ended"));
    return this.#writes.write(bytes);
  }

  endInput(): void {
    this.#writes.flush();
    this.#input.end();
  }

  kill(signal: NodeJS.Signals): void {
    try {
      if (this.#ownGroup) process.kill(-this.pid, signal);
      else this.#child.kill(signal);
    } catch {
      // ESRCH: nobody is left
    }
  }

  stop(graceMs = 2000): Promise<ChildExit> {
    this.#stopping ??= this.#climbLadder(graceMs);
    return this.#stopping;
  }

  async #climbLadder(graceMs: number): Promise<ChildExit> {
    this.endInput();
    if (!(await this.endsWithin(graceMs))) {
      this.kill("SIGTERM");
      this.letGo();
      if (!(await this.endsWithin(TERM_GRACE_MS))) this.kill("SIGKILL");
    }
    return this.exited;
  }
}

function writeTo(stream: Writable, bytes: Uint8Array | string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
