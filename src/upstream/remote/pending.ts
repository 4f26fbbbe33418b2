import type { Claim } from "../../core/answer-room.ts";
import { outsideRuns } from "../../core/run-context.ts";

/** A server ends its stream with the answer; one that is later than this does not mean to. */
const LINGER_MS = 1000;

/** A request that was not answered yet. */
export interface Pending {
  readonly id: unknown;
  readonly method: string;
  readonly abort: AbortController;
  readonly claim: Claim | undefined;
  /** Its answer comes as a stream of events, which may go on after the request was sent. */
  isStreamed: boolean;
  /** Of its answer, where there was one that is not small. */
  answerBytes: number | undefined;
  /** It is with the server no more. */
  leaveFlow?: () => void;
  /** Stops listening to the signal of whoever waits. */
  forgetCaller?: () => void;
  /** It was answered, and its connection is closed then. */
  closing?: ReturnType<typeof setTimeout>;
}

/**
 * Closes the connection of a request that was answered, unless its server ends it by then: there are 256 for all servers
 * together (Bun 1.4.5), so that one which leaves them open would take them from all others. Cleared by whoever sees the end.
 */
export function closeSoon(pending: Pending): void {
  pending.closing ??= outsideRuns(() => setTimeout(() => pending.abort.abort(), LINGER_MS)).unref();
}
