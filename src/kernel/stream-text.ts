import type { KernelEvents } from "./kernel.ts";
import type { StreamFrame } from "./protocol.ts";

const NO_BYTES = new Uint8Array();

/** Hands on what was written to both streams: as text, and as bytes where those are not just that text. */
export class StreamTexts {
  readonly #onStream: KernelEvents["onStream"];
  readonly #streams = { stdout: new StreamText(), stderr: new StreamText() };

  constructor(onStream: KernelEvents["onStream"]) {
    this.#onStream = onStream;
  }

  take({ name, data, bytes, skipped }: StreamFrame): void | Promise<void> {
    const stream = this.#streams[name];
    if (bytes === undefined) {
      const rest = stream.end();
      if (rest === "") return this.#onStream(name, data, skipped);
      return this.#onStream(name, rest + data, skipped, Buffer.from(data));
    }
    const piece = Buffer.from(bytes, "base64");
    return this.#onStream(name, stream.read(piece), skipped, piece);
  }

  /** Nothing more comes that could be the rest of a character. */
  end(): void {
    for (const name of ["stdout", "stderr"] as const) {
      const rest = this.#streams[name].end();
      if (rest !== "") void this.#onStream(name, rest, 0, NO_BYTES); // which were handed on when they came
    }
  }
}

/** What UTF-8 makes of pieces that may begin and end within a character; invalid bytes become U+FFFD. */
class StreamText {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #isOpen = false;

  read(piece: Uint8Array): string {
    this.#isOpen = true;
    return this.#decoder.decode(piece, { stream: true });
  }

  /** U+FFFD where the last piece ended within a character, else nothing. */
  end(): string {
    if (!this.#isOpen) return "";
    this.#isOpen = false;
    return this.#decoder.decode();
  }
}
