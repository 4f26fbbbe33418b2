import type { ClientPeer } from "../upstream/client-peer.ts";

/** What `run_python` needs of the rest of the house; `app` joins it to a session. */
export interface PythonRunner {
  /** Rejects with a BridgeError where nothing ran; user code that fails is a result. */
  run(request: RunRequest, signal: AbortSignal): Promise<RunResult>;
}

export interface RunRequest {
  readonly code: string;
  readonly servers: readonly string[];
  /** `undefined` for the configured default. */
  readonly timeoutSeconds: number | undefined;
  /** A handle, `"new"`, or `undefined` for the session that the connection has, if it has one, else a new one. */
  readonly session: string | undefined;
  /** `skipped` characters that came before the text are not in it. */
  readonly onOutput: ((text: string, skipped: number) => void) | undefined;
  /** Awaited when it is the run's turn, before it begins. Resolves at once when `signal` aborts; rejects where it cannot run. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** The client that the run is for: what upstream servers ask during its calls goes there. */
  readonly peer: ClientPeer;
}

/** How a run ended; `renderRunResult` makes of it what the model reads. */
export interface RunResult {
  readonly status: "ok" | "error" | "exit" | "timeout" | "cancelled" | "died";
  readonly stdout: string;
  readonly stderr: string;
  readonly result: string | null;
  readonly error: { readonly ename: string; readonly evalue: string; readonly traceback: string } | null;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
  readonly images: readonly RunImage[];
  /** Whether output was left out between the head and the tail that are here. */
  readonly truncated: boolean;
  readonly durationMs: number;
  /** The session that it ran in; `null` for the one that the connection has, which needs no handle. */
  readonly session: { readonly handle: string; readonly isNew: boolean } | null;
}

/** An image that the code showed; `data` is base64. */
export interface RunImage {
  readonly mimeType: string;
  readonly data: string;
}
