import type { Readable, Writable } from "node:stream";
import type { Config } from "../config/config.ts";
import type { BridgeEvents } from "../core/bridge-events.ts";
import type { Log } from "../core/log.ts";
import type { WorkspaceFiles } from "../kernel/workspace-files.ts";
import type { ExecuteRequest, Outcome } from "../session/outcome.ts";

/** The signals that end the program in an orderly way. */
export const STOP_SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof STOP_SIGNALS;

/** The process, as the commands see it. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** A person sits at stdin, so no MCP client does. */
  readonly stdinIsTerminal: boolean;
  /** The binary that runs; `undefined` when run from source. */
  readonly selfPath: string | undefined;
  /** Calls `handler` at each signal, instead of ending the process; returns how to stop that. */
  onStopSignal(handler: (signal: StopSignal) => void): () => void;
}

/** What the commands use of `app`; its `Bridge` has this shape. */
export interface CliBridge {
  readonly events: Pick<BridgeEvents, "listen">;
  openSession(): Promise<CliSession>;
  serveStdio(io: { readonly stdin: Readable; readonly stdout: Writable }): CliService;
  /** Resolves when it listens. */
  serveHttp(): Promise<CliService & { readonly url: string }>;
  close(): Promise<void>;
}

export interface CliService {
  readonly done: Promise<void>;
  close(): Promise<void>;
}

export interface CliSession {
  filesBefore(signal: AbortSignal): Promise<WorkspaceFiles>;
  filesAfter(): Promise<WorkspaceFiles | undefined>;
  execute(request: ExecuteRequest, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

/** What each command is given. */
export interface CliContext {
  readonly io: CliIo;
  readonly createBridge: (config: Config, options: { readonly log: Log }) => Promise<CliBridge>;
}
