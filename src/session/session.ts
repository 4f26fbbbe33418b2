import type { SessionRef } from "../core/bridge-events.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { WorkspaceFiles } from "../kernel/workspace-files.ts";
import type { ExecuteRequest, Outcome } from "./outcome.ts";

/** One sandbox with its state. Executions are queued; sessions are independent of each other. */
export interface Session extends Closable {
  readonly ref: SessionRef;
  /** Whether it has a sandbox now, and with it the variables of its last run. */
  readonly hasSandbox: boolean;
  /**
   * Runs code. Rejects with a BridgeError where nothing ran (no engine, no image, unknown server, queue full, closed);
   * all else is an {@link Outcome}. Aborting `signal` cancels: first an interrupt, then a kill.
   */
  execute(request: ExecuteRequest, signal: AbortSignal): Promise<Outcome>;
  /** The files of its sandbox, which starts for that, before anything runs. Rejects as `execute` does. */
  filesBefore(signal: AbortSignal): Promise<WorkspaceFiles>;
  /** Ends all that the last run left running, and gives what files it left; `undefined` where its sandbox is gone. */
  filesAfter(): Promise<WorkspaceFiles | undefined>;
  /** Bytes of memory that its sandbox holds; `undefined` where it has none, or does not answer soon. */
  measure(): Promise<number | undefined>;
  /**
   * Interrupts the call whose turn it is, as a client that cancels does; returns whether there was any. Its code runs, or it
   * still waits for its client or the sandbox: then `execute` rejects with `CANCELLED`, and nothing has run.
   */
  interrupt(): boolean;
  /** Replaces the Python process, whatever it does; the next result says that variables are gone. */
  reset(): Promise<void>;
  /** `reason` is for those who listen to the bridge's events. */
  close(reason?: string): Promise<void>;
}
