import type { Writable } from "node:stream";
import { createLog, type LogLevel } from "../../core/log.ts";
import type { CliIo } from "../context.ts";
import { printable } from "../printable.ts";
import { stoppable } from "../stoppable.ts";
import { terminalWidth } from "../table.ts";

const REDRAW_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

/** What a long piece of work is given. */
export interface LongWork {
  readonly log: ReturnType<typeof createLog>;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

/**
 * Does long work that a signal ends: on a terminal one line of stderr says for how long it has gone on and what was
 * said last; elsewhere nothing is, but with the log level DEBUG everything. Returns `act`'s exit code, or the signal's.
 */
export async function withProgress(
  io: CliIo,
  level: LogLevel,
  what: string,
  act: (work: LongWork) => Promise<number>,
): Promise<number> {
  const line = new ProgressLine(io.stderr, what);
  const log = createLog(level, (text) => {
    line.clear();
    io.stderr.write(text);
  });
  const onLine = (text: string) => {
    if (text === "") return;
    log.debug(text);
    line.show(text);
  };
  try {
    return await stoppable(io, what, (signal) => act({ log, signal, onLine }));
  } finally {
    line.end();
  }
}

/** One line of a terminal that is written over and over; nothing where there is no terminal. */
class ProgressLine {
  readonly #stream: Writable;
  readonly #what: string;
  readonly #startedAt = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #text = "";

  constructor(stream: Writable, what: string) {
    this.#stream = stream;
    this.#what = what;
    if (terminalWidth(stream) === undefined) return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
  }

  show(text: string): void {
    this.#text = printable(text);
  }

  clear(): void {
    if (this.#timer !== undefined) this.#stream.write(CLEAR_LINE);
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.clear();
  }

  #draw(): void {
    const seconds = Math.floor((performance.now() - this.#startedAt) / 1000);
    const width = (terminalWidth(this.#stream) ?? 80) - 1;
    const line = `${this.#what} ${seconds} s  ${this.#text}`;
    this.#stream.write(CLEAR_LINE + Bun.sliceAnsi(line, 0, width));
  }
}
