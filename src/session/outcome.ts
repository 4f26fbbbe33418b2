import type { DiedFrame } from "../kernel/protocol.ts";

/** Text of one stream of an execution, within the output limit. */
export interface CapturedText {
  readonly text: string;
  /** Characters left out between head and tail; 0 when all of it is there. */
  readonly dropped: number;
}

/** An image that the code showed; `data` is base64. */
export interface DisplayedImage {
  readonly mimeType: string;
  readonly data: string;
}

/** How the process of an execution ended. */
export interface Death {
  /** `sandbox`: it ended with its sandbox. */
  readonly reason: DiedFrame["reason"] | "sandbox";
  readonly signal: string | null;
  /** What more is known, in a few words; the sandbox may have written them. */
  readonly detail: string | null;
}

/** How one execution ended. User code that fails is an outcome, never an exception. */
export interface Outcome {
  readonly status: "ok" | "error" | "exit" | "timeout" | "cancelled" | "died";
  /** For `timeout` and `cancelled`: how it ended where it handled the interrupt and then came to an end by itself. */
  readonly ownStatus?: "ok" | "error" | "exit";
  readonly stdout: CapturedText;
  readonly stderr: CapturedText;
  /** The repr of a last expression, or null. */
  readonly result: string | null;
  readonly error: { readonly ename: string; readonly evalue: string; readonly traceback: string } | null;
  /** For `exit`, and for `died` where it is known: the program's exit code, 128 plus the signal's number for a signal. */
  readonly exitCode: number | null;
  /** For `died`, and where we had to end the process. */
  readonly death?: Death;
  /** Output that arrived between the previous call and this one (background tasks, child processes). */
  readonly late: { readonly stdout: CapturedText; readonly stderr: CapturedText };
  /** Sentences for the model: state was lost and why, limits that are not enforced, … */
  readonly notes: readonly string[];
  readonly images: readonly DisplayedImage[];
  /** Milliseconds from the start of the code to its end; waiting in the queue and starting the sandbox not counted. */
  readonly durationMs: number;
  /** For `timeout`, `cancelled` and `died`: whether variables are gone. */
  readonly stateLost: boolean;
}

/** How a program is called. */
export interface Script {
  /** What tracebacks call it, and `__file__` unless it begins with `<`. */
  readonly filename: string;
  readonly argv: readonly string[];
  /** Variables for it beside those of the sandbox. */
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input, of which no more is read than it takes; absent: empty. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

/** One request to run code. */
export interface ExecuteRequest {
  readonly code: string;
  /** Upstream servers to connect before the code runs, by name or alias. */
  readonly servers: readonly string[];
  readonly timeoutMs: number;
  /** What is only of a program that the command line runs; otherwise absent. */
  readonly script?: Script;
  /** Awaited when it is the request's turn, first of all. Resolves at once when `signal` aborts; rejects where it cannot run. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** Called when it is the request's turn, before anything is started for it. */
  readonly onStart?: () => void;
  /**
   * Called with output as it arrives; must not throw and must bound what it keeps. A promise holds the program back
   * until it settles, as a full pipe does. `skipped` characters that came before the text are not in it. `bytes` are what
   * was written where the text is not just that.
   */
  readonly onOutput?: (
    name: "stdout" | "stderr",
    text: string,
    skipped: number,
    bytes?: Uint8Array,
  ) => void | Promise<void>;
}
