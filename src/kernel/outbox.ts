import { LARGE_BYTES, largeMessages } from "../core/large-messages.ts";
import { isTooLong, MAX_FRAME_BYTES, type OutgoingLine, renderLine } from "./protocol.ts";

/**
 * Bytes of answers that one sandbox has not taken yet; more are refused, since it can ask and not read. One that reads does
 * not get there: servers wait before.
 */
const MAX_UNSENT_BYTES = 48 * 1024 * 1024;
/** What one answer may take in memory: a number has eight bytes there, and perhaps two on the way. */
const MAX_ANSWER_BYTES = 96 * 1024 * 1024;
const TOO_LONG = `the answer is nested too deeply, or takes more than the ${MAX_FRAME_BYTES} bytes of JSON that can be sent at once; ask for less`;
const TOO_MUCH =
  "too many bytes of answers wait to be read, of this session or of all; await some before asking for more";

type Reply = Extract<OutgoingLine, readonly ["k", { readonly id: number }]>;

/**
 * Sends answers to a sandbox, which can ask for any number and read none: large ones are put into words one after the
 * other, when the pipe has taken the one before, and only so many may wait. `write` resolves when the pipe has taken a
 * line, also when the sandbox is gone.
 */
export class Outbox {
  readonly #write: (line: string) => Promise<void>;
  readonly #held = new Set<() => void>();
  #unsentBytes = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(write: (line: string) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the pipe has taken the answer, or the refusal in its place. Never rejects. */
  async send(reply: Reply): Promise<void> {
    const bytes = sizeOf(reply[1], MAX_ANSWER_BYTES);
    if (bytes > MAX_ANSWER_BYTES) return this.#write(renderRefusal(reply, TOO_LONG));
    const isTooMuch = this.#unsentBytes > 0 && this.#unsentBytes + bytes > MAX_UNSENT_BYTES;
    const letGo = isTooMuch ? undefined : largeMessages.hold(bytes);
    if (letGo === undefined) return this.#write(renderRefusal(reply, TOO_MUCH));
    this.#unsentBytes += bytes;
    this.#held.add(letGo);
    try {
      if (bytes < LARGE_BYTES) await this.#write(renderReply(reply));
      else await this.#inTurn(reply);
    } finally {
      this.#unsentBytes -= bytes;
      this.#held.delete(letGo);
      letGo();
    }
  }

  /** The sandbox is gone: nothing waits to be taken any more, whatever becomes of the pipe. */
  close(): void {
    for (const letGo of this.#held) letGo();
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
