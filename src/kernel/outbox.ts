import { SMALL_BYTES } from "../core/answer-room.ts";
import { sizeOfJson } from "../core/json-size.ts";
import { isTooLong, MAX_FRAME_BYTES, type OutgoingLine, renderLine } from "./protocol.ts";

/** What one answer may take in memory: a number has eight bytes there, and perhaps two on the way. */
const MAX_ANSWER_BYTES = 96 * 1024 * 1024;
const TOO_LONG = `the answer is nested too deeply, or takes more than the ${MAX_FRAME_BYTES} bytes of JSON that can be sent at once; ask for less`;
type Reply = Extract<OutgoingLine, readonly ["k", { readonly id: number }]>;

/**
 * Sends answers to a sandbox, which can ask for any number and read none: all but small ones are put into words one after
 * the other, when the pipe has taken the one before. `write` resolves when the pipe has taken a line.
 */
export class Outbox {
  readonly #write: (line: string) => Promise<void>;
  readonly #unsent = new Set<() => void>();
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(write: (line: string) => Promise<void>) {
    this.#write = write;
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
    const bytes = sizeOfJson(reply[1], MAX_ANSWER_BYTES);
    if (bytes > MAX_ANSWER_BYTES) return this.#write(renderRefusal(reply, TOO_LONG));
    if (bytes <= SMALL_BYTES) return this.#write(renderReply(reply));
    this.#turn = this.#turn.then(() => (this.#isClosed ? undefined : this.#write(renderReply(reply))));
    return this.#turn;
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
