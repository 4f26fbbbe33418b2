import { createInterface, type Interface } from "node:readline";
import type { CliIo } from "./context.ts";

/** Lines of a terminal; those that come before they are asked for, as when somebody pastes, wait. Who creates it closes it. */
export class TypedLines {
  readonly #interface: Interface;
  readonly #output: CliIo["stderr"];
  readonly #lines: string[] = [];
  #hasEnded = false;
  #wake = () => {};

  constructor({ stdin, stderr }: CliIo) {
    this.#output = stderr;
    this.#interface = createInterface({ input: stdin, terminal: false });
    this.#interface.on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    this.#interface.once("close", () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  /** The next line after `prompt`; `undefined` at the end of stdin. Rejects when `signal` aborts. */
  async ask(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    this.#output.write(prompt);
    const wake = () => this.#wake();
    signal?.addEventListener("abort", wake);
    try {
      while (this.#lines.length === 0 && !this.#hasEnded) {
        signal?.throwIfAborted();
        const change = Promise.withResolvers<void>();
        this.#wake = change.resolve;
        await change.promise;
      }
      signal?.throwIfAborted();
      return this.#lines.shift();
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  close(): void {
    this.#interface.close();
  }
}
