import { BoundedText } from "../core/bounded-text.ts";
import type { CapturedText } from "./outcome.ts";

export type StreamName = "stdout" | "stderr";

/** What one execution, or the time between two, wrote: each stream bounded by itself. */
export class CapturedOutput {
  readonly #streams: Readonly<Record<StreamName, BoundedText>>;

  /** `maxChars` is kept of each stream, half from its head and half from its tail. */
  constructor(maxChars: number) {
    this.#streams = { stdout: new BoundedText(maxChars), stderr: new BoundedText(maxChars) };
  }

  append(name: StreamName, text: string): void {
    this.#streams[name].append(text);
  }

  read(name: StreamName): CapturedText {
    const stream = this.#streams[name];
    return { text: stream.toString(leftOut), dropped: stream.dropped };
  }
}

function leftOut(count: number): string {
  return `\n[… ${count} characters left out …]\n`;
}
