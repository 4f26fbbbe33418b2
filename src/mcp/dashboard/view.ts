/** A part of a program's output. */
export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** The newest of a program's output, made when it is asked for. */
export interface OutputView {
  readonly pieces: readonly OutputPiece[];
  /** Characters before the pieces that are not shown. */
  readonly leftOut: number;
}

/** One call of `run_python`, running or over. */
export interface ExecutionView {
  readonly code: string;
  /** Characters of the code that are not shown. */
  readonly codeLeftOut: number;
  readonly output: OutputView;
  /** Milliseconds since 1970; `undefined` while it waits. */
  readonly startedAt: number | undefined;
  /** As events say it; `undefined` while it runs. */
  readonly outcome: string | undefined;
  readonly durationMs: number | undefined;
}

export interface SessionView {
  readonly id: string;
  readonly callerId: string;
  readonly callerName: string;
  /** Another number after each change. */
  readonly version: number;
  readonly state: "running" | "waiting" | "idle" | "no sandbox";
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly activeAt: number;
  readonly hasSandbox: boolean;
  /** Executions that ran, or run. */
  readonly executions: number;
  /** Executions that wait for the one that runs. */
  readonly queued: number;
  /** What runs, or ran last. */
  readonly execution: ExecutionView | undefined;
}

/** One call of an upstream server. */
export interface CallView {
  /** Counts up. */
  readonly nth: number;
  readonly callerId: string;
  readonly callerName: string;
  readonly sessionId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly server: string;
  /** Or the method, for what is no call of a tool. */
  readonly tool: string;
  readonly outcome: string;
  readonly durationMs: number;
}
