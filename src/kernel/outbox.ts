import { SMALL_BYTES } from "../core/answer-room.ts";
import { sizeOfJson } from "../core/json-size.ts";
import { isTooLong, MAX_FRAME_BYTES, type OutgoingLine, renderLine } from "./protocol.ts";

/** What one answer may take in memory: a number has eight bytes there, and perhaps two on the way. */
const MAX_ANSWER_BYTES = 96 * 1024 * 1024;
const TOO_LONG = `the answer is nested too deeply, or takes more than the ${MAX_FRAME_BYTES} bytes of JSON that can be sent at once; ask for less`;
/** So often in a row a sandbox is seen to have taken nothing, until it is told; a machine that slept is no reason. */
const STUCK_LOOKS = 3;
/** The pipe says only when it has taken a line whole: one look more for so much of it, since an engine may be far away. */
const LOOK_CHARS = 4 * 1024 * 1024;
const LOOK_MS = 20_000;

type Reply = Extract<OutgoingLine, readonly ["k", { readonly id: number }]>;

export interface OutboxOptions {
  /** Resolves when the pipe has taken the line. */
  readonly write: (line: string) => Promise<void>;
  /** Called when the pipe has not taken an answer that is not small, for a minute, and longer for a long one. */
  readonly onStuck: () => void;
  /** Whether it is we who take nothing of the sandbox: then it may be unable to. */
  readonly isHeldBack: () => boolean;
  /** Milliseconds between two looks; 20,000 by default. */
  readonly lookMs?: number | undefined;
}

/**
 * Sends answers to a sandbox, which can ask for any number and read none: all but small ones are put into words one after
 * the other, when the pipe has taken the one before.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #unsent = new Set<() => void>();
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Resolves when the pipe has taken the answer, or the refusal in its place, or the sandbox is gone. Never rejects. */
  async send(reply: Reply): Promise<void> {
    if (this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsent.add(resolve);
    void this.#send(reply).then(resolve);
    await promise;
    this.#unsent.delete(resolve);
  }

  /** The sandbox is gone: nothing waits to be taken any more, whatever becomes of the pipe. */
  close(): void {
    this.#isClosed = true;
    for (const resolve of this.#unsent) resolve();
  }

  #send(reply: Reply): Promise<void> {
    const { write } = this.#options;
    const bytes = sizeOfJson(reply[1], MAX_ANSWER_BYTES);
    if (bytes > MAX_ANSWER_BYTES) return write(renderRefusal(reply, TOO_LONG));
    if (bytes <= SMALL_BYTES) return write(renderReply(reply));
    this.#turn = this.#turn.then(() => (this.#isClosed ? undefined : this.#writeWatched(renderReply(reply))));
    return this.#turn;
  }

  async #writeWatched(line: string): Promise<void> {
    const { write, onStuck, isHeldBack, lookMs = LOOK_MS } = this.#options;
    const most = STUCK_LOOKS + Math.floor(line.length / LOOK_CHARS);
    let looks = 0;
    const timer = setInterval(() => {
      looks = isHeldBack() ? 0 : looks + 1;
      if (looks < most && !this.#isClosed) return;
      clearInterval(timer);
      if (!this.#isClosed) onStuck();
    }, lookMs).unref();
    try {
      await write(line);
    } finally {
      clearInterval(timer);
    }
  }
}

function renderReply(reply: Reply): string {
  try {
    const text = renderLine(reply);
    if (!isTooLong(text)) return text;
  } catch {
    // RangeError: JSON can be parsed at a depth at which it can not be written
  }
  return renderRefusal(reply, TOO_LONG);
}

function renderRefusal([, { id }]: Reply, message: string): string {
  const error = { kind: "limit", message, server: null, tool: null } as const;
  return renderLine(["k", { type: "reply_error", id, error }]);
}
