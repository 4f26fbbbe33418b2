import { ProtocolError, ProtocolErrorCode, type Transport } from "@modelcontextprotocol/client";
import type { BridgeError } from "../core/errors.ts";
import { createClient } from "./client.ts";
import type { Connection, ConnectOptions } from "./connect.ts";
import type { StdioDefinition } from "./definitions.ts";
import { serverEnvironment } from "./environment.ts";
import { createMask, excerpt } from "./mask.ts";
import { describeConnectFault, describeEnd } from "./server-faults.ts";
import { StdioTransport } from "./transport.ts";

/** What servers refuse a handshake with that speak another one. */
const REFUSALS: readonly number[] = [
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.UnsupportedProtocolVersion,
];

/**
 * Starts a server that is a process and shakes hands with it.
 *
 * The handshake is `initialize`, which every server of today answers. Only one that refuses it is started again and
 * asked by `server/discover` (the revision of 2026-07-28), and so at once the next time: asking so first would cost all
 * others a second process or a round trip, and some servers exit on a request before `initialize`.
 */
export async function connectStdio(
  definition: StdioDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const { remembered } = options;
  const { era } = await remembered.find(definition.fingerprint);
  if (era !== "modern") {
    try {
      return await shakeHands(definition, "legacy", options, signal);
    } catch (error) {
      if (!(error instanceof HandshakeRefused)) throw error;
      options.log.debug("server refused initialize, trying server/discover", { server: definition.name });
    }
  }
  try {
    const connection = await shakeHands(definition, "auto", options, signal);
    await remembered.keep(definition.fingerprint, {
      era: connection.client.getProtocolEra(),
      protocol: undefined,
    });
    return connection;
  } catch (error) {
    await remembered.keep(definition.fingerprint, undefined);
    throw error instanceof HandshakeRefused ? error.fault : error;
  }
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
  const { log, prepare } = options;
  const mask = createMask(Object.values(settings.env));
  const transport = new StdioTransport({
    command: settings.command,
    args: settings.args,
    cwd: settings.cwd,
    env: serverEnvironment(options.env, settings.env, options.childEnv),
    stopGraceMs: options.stopGraceMs,
    onSpawn: options.onSpawn,
    mask,
    onStderr: (text) =>
      log.debug("stderr of server", { server: name, detail: excerpt(text.trimEnd(), mask) }),
    onBadLine: (quote) =>
      log.warning("server prints to stdout, which belongs to the protocol; the lines are skipped", {
        server: name,
        first: quote,
      }),
  });
  const { client, toolsChanged, onToolsChanged } = createClient({
    mode,
    server: name,
    log,
    mask,
    prepare,
  });
  const kill = () => transport.kill();
  options.onStart({ ended: transport.gone, kill });
  try {
    await client.connect(transport as Transport, { signal, timeout: options.connectMs });
  } catch (error) {
    await transport.close();
    const fault = await describeConnectFault({ error, definition, transport, signal, mask, ...options });
    const isRefusal = error instanceof ProtocolError && REFUSALS.includes(error.code);
    throw isRefusal ? new HandshakeRefused(fault) : fault;
  }
  // Also from a server that did not announce that it would say so.
  client.setNotificationHandler("notifications/tools/list_changed", toolsChanged);
  return {
    ended: transport.ended,
    kill,
    client,
    mask,
    pid: transport.pid,
    onToolsChanged,
    endError: () => describeEnd(definition, transport, mask),
    close: () => transport.close(),
  };
}
