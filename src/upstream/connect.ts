import type { Client } from "@modelcontextprotocol/client";
import type { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { isRemote, isStdio } from "./definitions.ts";
import type { Mask } from "./mask.ts";
import type { Remembered } from "./remembered.ts";

/** How upstream servers are started and reached. */
export interface ConnectOptions {
  /** The bridge's environment, of which servers get the safe part. */
  readonly env: Readonly<Record<string, string>>;
  /** Set for every server, whatever its entry says. */
  readonly childEnv: Readonly<Record<string, string>>;
  /** What earlier connections have found out. */
  readonly remembered: Remembered;
  readonly log: Log;
  /** Milliseconds from the start of the process, or the first request, to the end of the handshake. */
  readonly connectMs: number;
  /** Milliseconds that a server has to end by itself when its stdin ends. */
  readonly stopGraceMs: number;
  /** Told of every server before the handshake, which may take long. */
  readonly onStart: (process: Killable) => void;
  /** Called when a server process runs, which leads a process group. */
  readonly onSpawn: (pid: number) => void;
  /** Declares what the client can do and answers for it; called before the handshake. */
  readonly prepare: (client: Client, mask: Mask) => void;
}

/** A server process or a connection to a URL, from before it starts until it has ended. */
export interface Killable {
  /** Resolves when it is gone, for whatever reason, with all of its group. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends all of it without waiting, a process group by SIGKILL: for an exit of the bridge. */
  kill(): void;
}

/** A live connection to one server. Who connected it closes it. */
export interface Connection extends Omit<Killable, "ended"> {
  /** Resolves when its server is gone, for whatever reason; what that had started may take seconds more. Never rejects. */
  readonly ended: Promise<void>;
  readonly client: Client;
  /** Hides the server's secrets in what it says, for logs and errors. */
  readonly mask: Mask;
  /** The server's process, which leads a process group; `null` for a server that is reached by URL. */
  readonly pid: number | null;
  /** Registers what to do when the server says that its tools changed. */
  onToolsChanged(listener: () => void): void;
  /** How the connection ended, with the server's last words; for after `ended`. */
  endError(): BridgeError;
  close(): Promise<void>;
}

/**
 * Starts a server, or reaches it by URL, and shakes hands with it, within `connectMs` and until `signal` aborts. Rejects
 * with an `UPSTREAM_*` error; nothing of the server is left then.
 */
export async function connectServer(
  definition: ServerDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(options.connectMs)]);
  if (isStdio(definition)) {
    const { connectStdio } = await import("./connect-stdio.ts");
    return connectStdio(definition, options, deadline);
  }
  if (!isRemote(definition)) throw new Error("a server is a process or has a URL");
  const { connectRemote } = await import("./remote/connect-remote.ts");
  return connectRemote(definition, options, deadline);
}
