import type { BridgeError } from "../../core/errors.ts";
import type { Outcome } from "../../session/outcome.ts";
import type { JobInputs } from "./job-inputs.ts";
import type { OutputFile } from "./take-out.ts";
import type { UpstreamCalls } from "./upstream-calls.ts";

/** All that is known of a job whose program ran. */
export interface JobResult {
  readonly outcome: Outcome;
  /** Ours. */
  readonly exitCode: number;
  readonly timeoutMs: number;
  readonly inputs: Pick<JobInputs, "notes">;
  /** What came back, and what did not. */
  readonly files: readonly OutputFile[];
  readonly notes: readonly string[];
  /** Why nothing more came back. */
  readonly fault?: BridgeError;
  readonly calls: UpstreamCalls;
}
