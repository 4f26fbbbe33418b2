import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { Claim } from "./answer-room.ts";
import type { TraceContext } from "./tracing.ts";

/** What the code that runs now works for. The ids are short, random and no secret: logs, audit and traces share them. */
export interface RunContext {
  /** One request of a client. */
  readonly requestId?: string;
  readonly sessionId?: string;
  /** Whose session it is. */
  readonly callerId?: string;
  readonly executionId?: string;
  /** The innermost span that it is a part of; only where traces are sent. */
  readonly trace?: TraceContext;
  /** Where the answer to the request of a sandbox is counted. */
  readonly claim?: Claim;
}

const NOTHING: RunContext = {};
const storage = new AsyncLocalStorage<RunContext>();

export function currentRun(): RunContext {
  return storage.getStore() ?? NOTHING;
}

/** Does `work`, and all that it begins, for what is there already and `more`. */
export function withinRun<T>(more: RunContext, work: () => T): T {
  const current = currentRun();
  return storage.run(current === NOTHING ? more : { ...current, ...more }, work);
}

/** Begins something that outlives the run in which it begins: a sandbox, a server, what fills the pool. */
export function outsideRuns<T>(work: () => T): T {
  return storage.run(NOTHING, work);
}

/** An id for people and logs: 48 random bits, so that two of one day's logs are not taken for each other. */
export function createShortId(): string {
  return randomBytes(6).toString("hex");
}
