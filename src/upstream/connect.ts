import { Client, ProtocolError, type Transport } from "@modelcontextprotocol/client";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { VERSION } from "../core/version.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { serverEnvironment } from "./environment.ts";
import { createMask } from "./mask.ts";
import { describeConnectFault, describeEnd, type StdioDefinition } from "./server-faults.ts";
import { StdioTransport } from "./transport.ts";

const METHOD_NOT_FOUND = -32_601;
const UNSUPPORTED_VERSION = -32_022;
/** The SDK quotes whole messages in its errors. */
const MAX_LOGGED_CHARS = 4096;

/** How upstream servers are started. */
export interface ConnectOptions {
  /** The bridge's environment, of which servers get the safe part. */
  readonly env: Readonly<Record<string, string>>;
  /** Set for every server, whatever its entry says. */
  readonly childEnv: Readonly<Record<string, string>>;
  readonly log: Log;
  /** Milliseconds from the start of the process to the end of the handshake. */
  readonly connectMs: number;
  /** Milliseconds that a server has to end by itself when its stdin ends. */
  readonly stopGraceMs: number;
  /** Told of every server process before the handshake, which may take long. */
  readonly onStart: (process: Killable) => void;
  /** Called when a server process runs, which leads a process group. */
  readonly onSpawn: (pid: number) => void;
}

/** A server process, from before it starts until it has ended. */
export interface Killable {
  /** Resolves when it is gone, for whatever reason. Never rejects. */
  readonly ended: Promise<void>;
  /** SIGKILL to all of its group, without waiting: for an exit of the bridge. */
  kill(): void;
}

/** A live connection to one server. Who connected it closes it. */
export interface Connection extends Killable {
  readonly client: Client;
  /** The server's process, which leads a process group. */
  readonly pid: number | null;
  /** Registers what to do when the server says that its tools changed. */
  onToolsChanged(listener: () => void): void;
  /** How the connection ended, with the server's last words; for after `ended`. */
  endError(): BridgeError;
  close(): Promise<void>;
}

/**
 * Starts a server and shakes hands with it, within `connectMs` and until `signal` aborts. Rejects with
 * `UPSTREAM_UNREACHABLE` or `UPSTREAM_TIMEOUT`; nothing of the server is left then.
 *
 * The handshake is `initialize`, which every server of today answers. Only one that refuses it is started again and
 * asked by `server/discover` (the revision of 2026-07-28): asking so first would cost all others a second process or
 * a round trip, and some servers exit on a request before `initialize`.
 */
export async function connectServer(
  definition: ServerDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(options.connectMs)]);
  if (!isStdio(definition)) {
    const message = `server ${JSON.stringify(definition.name)} is reached by URL, which is not supported yet`;
    throw new BridgeError("UPSTREAM_UNREACHABLE", message, { data: { server: definition.name } });
  }
  try {
    return await shakeHands(definition, "legacy", options, deadline);
  } catch (error) {
    if (!(error instanceof HandshakeRefused)) throw error;
    options.log.debug("server refused initialize, trying server/discover", { server: definition.name });
  }
  try {
    return await shakeHands(definition, "auto", options, deadline);
  } catch (error) {
    throw error instanceof HandshakeRefused ? error.fault : error;
  }
}

function isStdio(definition: ServerDefinition): definition is StdioDefinition {
  return definition.transport.kind === "stdio";
}

/** The server is up and speaks JSON-RPC, but not this handshake. */
class HandshakeRefused extends Error {
  readonly fault: BridgeError;

  constructor(fault: BridgeError) {
    super(fault.message);
    this.fault = fault;
  }
}

async function shakeHands(
  definition: StdioDefinition,
  mode: "legacy" | "auto",
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const { name, transport: settings } = definition;
  const mask = createMask(settings.env);
  const log = (message: string, detail: string) =>
    options.log.debug(message, { server: name, detail: mask(detail.slice(0, MAX_LOGGED_CHARS)) });
  const transport = new StdioTransport({
    command: settings.command,
    args: settings.args,
    cwd: settings.cwd,
    env: serverEnvironment(options.env, settings.env, options.childEnv),
    stopGraceMs: options.stopGraceMs,
    onSpawn: options.onSpawn,
    onStderr: (text) => log("stderr of server", text.trimEnd()),
    onBadLine: (quote) =>
      options.log.warning("server prints to stdout, which belongs to the protocol; the lines are skipped", {
        server: name,
        first: mask(quote),
      }),
  });
  let onToolsChanged = () => {};
  const toolsChanged = () => onToolsChanged();
  const client = new Client(
    { name: "sandpy", version: VERSION },
    {
      versionNegotiation: { mode },
      // In the newest revision this subscribes; a fetch is left to the next reader.
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: toolsChanged } },
    },
  );
  const ended = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  client.onerror = (error) => log("protocol fault of server", error.message);
  const killable = { ended, kill: () => transport.kill() };
  options.onStart(killable);
  try {
    await client.connect(transport as Transport, { signal, timeout: options.connectMs });
  } catch (error) {
    await transport.close();
    const fault = await describeConnectFault({ error, definition, transport, signal, mask, ...options });
    const isRefusal =
      error instanceof ProtocolError && [METHOD_NOT_FOUND, UNSUPPORTED_VERSION].includes(error.code);
    throw isRefusal ? new HandshakeRefused(fault) : fault;
  }
  // Also from a server that did not announce that it would say so.
  client.setNotificationHandler("notifications/tools/list_changed", toolsChanged);
  return {
    ...killable,
    client,
    pid: transport.pid,
    onToolsChanged: (listener) => {
      onToolsChanged = listener;
    },
    endError: () => describeEnd(definition, transport, mask),
    close: () => transport.close(),
  };
}
