import type { InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type { ToolAnswer } from "./render-result.ts";

/** Of one caller; beyond them the oldest is forgotten. */
const MAX_PER_CALLER = 64;

/** Goes on with a run, for a request that has the client's answers. */
export type ResumeRun = (context: ServerContext) => Promise<ToolAnswer | InputRequiredResult>;

/**
 * The runs that wait for an answer of their client, or with theirs for it to be fetched. Over HTTP the request that brings
 * or fetches it comes on a connection of its own; that it is the same caller's is all that is left to tell whose run it may
 * go on with.
 */
export class SuspendedRuns {
  readonly #runs = new Map<string, Map<string, ResumeRun>>();

  keep(callerId: string, token: string, resume: ResumeRun): void {
    const own = this.#runs.get(callerId) ?? new Map<string, ResumeRun>();
    this.#runs.set(callerId, own);
    own.set(token, resume);
    const [oldest] = own.keys();
    if (own.size > MAX_PER_CALLER && oldest !== undefined) own.delete(oldest);
  }

  /** One request at a time waits for a run: who takes it has it. `undefined` where the caller has none of this token. */
  take(callerId: string, token: string): ResumeRun | undefined {
    const found = this.#runs.get(callerId)?.get(token);
    this.forget(callerId, token);
    return found;
  }

  forget(callerId: string, token: string): void {
    const own = this.#runs.get(callerId);
    own?.delete(token);
    if (own?.size === 0) this.#runs.delete(callerId);
  }
}
