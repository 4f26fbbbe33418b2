import type { InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type { ToolAnswer } from "./render-result.ts";

/** Of one caller; beyond them the oldest is forgotten. */
const MAX_PER_CALLER = 64;
/** Of the results of all callers that nobody has fetched: a client that never calls again must not fill our memory. */
const MAX_RESULT_CHARS = 32 * 1024 * 1024;
/** A result that the client did not fetch after its last answer is kept this long. */
const KEEP_RESULT_MS = 60_000;

/** Goes on with a run, for a request that has the client's answers. */
export type ResumeRun = (context: ServerContext) => Promise<ToolAnswer | InputRequiredResult>;

interface Ended {
  readonly callerId: string;
  readonly chars: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The runs that wait for an answer of their client, or with theirs for it to be fetched. Over HTTP the request that brings
 * or fetches it comes on a connection of its own; that it is the same caller's is all that is left to tell whose run it may
 * go on with.
 */
export class SuspendedRuns {
  readonly #runs = new Map<string, Map<string, ResumeRun>>();
  /** Of these runs, those that have ended, oldest first. */
  readonly #ended = new Map<string, Ended>();
  #endedChars = 0;

  keep(callerId: string, token: string, resume: ResumeRun): void {
    const own = this.#runs.get(callerId) ?? new Map<string, ResumeRun>();
    this.#runs.set(callerId, own);
    own.set(token, resume);
    const [oldest] = own.keys();
    if (own.size > MAX_PER_CALLER && oldest !== undefined) this.#forget(callerId, oldest);
  }

  /** A run has ended, with a result of about so many characters. Does nothing for one that is not kept. */
  end(callerId: string, token: string, chars: number): void {
    if (this.#runs.get(callerId)?.has(token) !== true || this.#ended.has(token)) return;
    const timer = setTimeout(() => this.#forget(callerId, token), KEEP_RESULT_MS).unref();
    this.#ended.set(token, { callerId, chars, timer });
    this.#endedChars += chars;
    while (this.#endedChars > MAX_RESULT_CHARS) this.#forgetOldest(this.#largestCaller());
  }

  /** One request at a time waits for a run: who takes it has it. `undefined` where the caller has none of this token. */
  take(callerId: string, token: string): ResumeRun | undefined {
    const found = this.#runs.get(callerId)?.get(token);
    if (found !== undefined) this.#forget(callerId, token);
    return found;
  }

  /** Whose results are most: that they are many takes nothing from others. */
  #largestCaller(): string | undefined {
    const sums = new Map<string, number>();
    for (const { callerId, chars } of this.#ended.values())
      sums.set(callerId, (sums.get(callerId) ?? 0) + chars);
    return [...sums].sort(([, one], [, other]) => other - one)[0]?.[0];
  }

  #forgetOldest(callerId: string | undefined): void {
    const oldest = [...this.#ended].find(([, ended]) => ended.callerId === callerId);
    if (oldest !== undefined) this.#forget(oldest[1].callerId, oldest[0]);
  }

  #forget(callerId: string, token: string): void {
    const own = this.#runs.get(callerId);
    own?.delete(token);
    if (own?.size === 0) this.#runs.delete(callerId);
    const ended = this.#ended.get(token);
    if (ended === undefined) return;
    clearTimeout(ended.timer);
    this.#ended.delete(token);
    this.#endedChars -= ended.chars;
  }
}
