import { BoundedText } from "../core/bounded-text.ts";
import type { SpilledFrame } from "../kernel/protocol.ts";
import type { CapturedText } from "./outcome.ts";

export type StreamName = "stdout" | "stderr";

/** What one execution, or the time between two, wrote: each stream bounded by itself. */
export class CapturedOutput {
  readonly #files: Partial<Record<StreamName, string>> = {};
  readonly #streams: Readonly<Record<StreamName, BoundedText>>;

  /** `maxChars` is kept of each stream, half from its head and half from its tail. */
  constructor(maxChars: number) {
    this.#streams = { stdout: new BoundedText(maxChars), stderr: new BoundedText(maxChars) };
  }

  /** `skipped` characters that came before the text are not in it. */
  append(name: StreamName, text: string, skipped: number): void {
    if (skipped > 0) this.#streams[name].skip(skipped);
    this.#streams[name].append(text);
  }

  /** Says where in the sandbox the whole stream can be read; the marker between head and tail then names it. */
  noteFile({ name, path, bytes, kept }: SpilledFrame): void {
    this.#files[name] = kept < bytes ? `the first ${kept} of ${bytes} bytes are` : "all of it is";
    this.#files[name] += ` in the sandbox: ${path}`;
  }

  read(name: StreamName): CapturedText {
    const stream = this.#streams[name];
    const where = this.#files[name] === undefined ? "" : `; ${this.#files[name]}`;
    const marker = (count: number) => `\n[… ${count} characters left out${where} …]\n`;
    return { text: stream.toString(marker), dropped: stream.dropped };
  }
}
