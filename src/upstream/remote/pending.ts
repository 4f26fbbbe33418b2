import type { Claim } from "../../core/answer-room.ts";

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
}
