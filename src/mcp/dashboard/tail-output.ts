import type { OutputPiece, OutputView } from "./view.ts";

const MAX_CHARS = 16 * 1024;
/** Programs may write to both streams in turn, one character at a time. */
const MAX_PIECES = 256;

/** The newest output of one execution, both streams in the order in which they came, within bounds. */
export class TailOutput implements OutputView {
  #pieces: { stream: OutputPiece["stream"]; text: string }[] = [];
  #chars = 0;
  #leftOut = 0;

  append(stream: OutputPiece["stream"], text: string): void {
    const last = this.#pieces.at(-1);
    const kept = text.slice(-MAX_CHARS);
    this.#leftOut += text.length - kept.length;
    if (last?.stream === stream) last.text += kept;
    else this.#pieces.push({ stream, text: kept });
    this.#chars += kept.length;
    this.#trim();
  }

  /** UTF-16 units before the first piece that are gone. */
  get leftOut(): number {
    return this.#leftOut;
  }

  get pieces(): readonly OutputPiece[] {
    return this.#pieces.map(({ stream, text }) => ({ stream, text: text.toWellFormed() }));
  }

  #trim(): void {
    while (this.#chars > MAX_CHARS || this.#pieces.length > MAX_PIECES) {
      const [first] = this.#pieces;
      if (first === undefined) return;
      const excess =
        this.#pieces.length > MAX_PIECES
          ? first.text.length
          : Math.min(this.#chars - MAX_CHARS, first.text.length);
      first.text = first.text.slice(excess);
      this.#chars -= excess;
      this.#leftOut += excess;
      if (first.text === "") this.#pieces.shift();
    }
  }
}
