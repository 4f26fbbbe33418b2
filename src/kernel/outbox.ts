import { COLLECT_BYTES } from "./channel.ts";
import { isTooLong, MAX_FRAME_BYTES, type OutgoingLine, renderLine } from "./protocol.ts";

/** Bytes of answers that the sandbox has not taken yet; more are refused, since it can ask and not read. */
const MAX_UNSENT_BYTES = 96 * 1024 * 1024;
/** A shorter answer need not wait for its turn. */
const LARGE_BYTES = 256 * 1024;
const TOO_LONG = `the answer is nested too deeply, or takes more than the ${MAX_FRAME_BYTES} bytes of JSON that can be sent at once; ask for less`;
const TOO_MUCH = `more than ${MAX_UNSENT_BYTES} bytes of answers wait to be read; await some before asking for more`;

type Reply = Extract<OutgoingLine, readonly ["k", { readonly id: number }]>;

/**
 * Sends answers to a sandbox, which can ask for any number and read none: large ones are put into words one after the
 * other, when the pipe has taken the one before, and only so many may wait. `write` resolves when the pipe has taken a
 * line, also when the sandbox is gone.
 */
export class Outbox {
  readonly #write: (line: string) => Promise<void>;
  #unsentBytes = 0;
  #uncollected = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(write: (line: string) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the pipe has taken the answer, or the refusal in its place. Never rejects. */
  async send(reply: Reply): Promise<void> {
    const bytes = sizeOf(reply[1], MAX_UNSENT_BYTES);
    if (this.#unsentBytes + bytes > MAX_UNSENT_BYTES) {
      const message = bytes > MAX_FRAME_BYTES ? TOO_LONG : TOO_MUCH;
      return this.#write(renderRefusal(reply, message));
    }
    this.#unsentBytes += bytes;
    try {
      if (bytes < LARGE_BYTES) await this.#write(renderReply(reply));
      else await this.#inTurn(reply);
    } finally {
      this.#unsentBytes -= bytes;
    }
    this.#uncollected += bytes;
    if (this.#uncollected < COLLECT_BYTES) return;
    this.#uncollected = 0;
    Bun.gc(true);
  }

  #inTurn(reply: Reply): Promise<void> {
    this.#turn = this.#turn.then(() => this.#write(renderReply(reply)));
    return this.#turn;
  }
}

/** About how many bytes a value takes as JSON, or somewhat more than `max` where it is more. */
function sizeOf(value: unknown, max: number): number {
  const open = [[value].values()];
  let size = 0;
  for (let last = open.at(-1); last !== undefined && size <= max; last = open.at(-1)) {
    const { done, value: next } = last.next();
    if (done === true) open.pop();
    else if (typeof next === "string") size += next.length + 2;
    else if (typeof next !== "object" || next === null) size += 8;
    else if (Array.isArray(next)) open.push((next as unknown[]).values());
    else open.push(Object.entries(next).flat().values());
  }
  return size;
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
