import type { Log } from "../core/log.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { Callers } from "./callers.ts";
import type { Catalogue } from "./catalogue/catalogue.ts";
import { parseServerInfo, type ServerInfo } from "./catalogue/stored-server.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { Connection, ConnectOptions } from "./connect.ts";
import type { Relay } from "./relay.ts";
import type { ToolList } from "./tool-list.ts";

/** A server that is up. */
export interface LiveServer {
  readonly definition: ServerDefinition;
  readonly connection: Connection;
  readonly toolList: ToolList;
  readonly relay: Relay;
  /** Says that the server did its work: its earlier failures are forgotten. */
  succeeded(): void;
}

export interface StartOptions extends Omit<ConnectOptions, "prepare"> {
  readonly log: Log;
  /** Learns the tools of every server that lists them. */
  readonly catalogue: Catalogue;
  /** Milliseconds for one page of a list of tools. */
  readonly listMs: number;
  /** The clients of all sessions. */
  readonly peers: ReadonlySet<ClientPeer>;
  readonly onSucceeded: () => void;
}

/** Starts a server and has its tools listed. Rejects as `connectServer` does; nothing is left then. */
export async function startServer(
  definition: ServerDefinition,
  callers: Callers,
  options: StartOptions,
  signal: AbortSignal,
): Promise<LiveServer> {
  // The SDK's client costs 15 ms to load: only those who use a server pay for it.
  const [{ connectServer }, { createToolList }, { Relay }] = await Promise.all([
    import("./connect.ts"),
    import("./tool-list.ts"),
    import("./relay.ts"),
  ]);
  const { name } = definition;
  const { log, listMs, catalogue, peers } = options;
  const relay = new Relay({
    server: name,
    callers,
    hasStreams: definition.transport.kind === "remote",
    peers,
    log,
  });
  const connectMs = definition.startMs ?? options.connectMs;
  const prepare: ConnectOptions["prepare"] = (client, mask) => relay.attach(client, mask);
  const connection = await connectServer(definition, { ...options, connectMs, prepare }, signal);
  const toolList = createToolList(connection, {
    name,
    log,
    listMs,
    onFetched: (tools) => catalogue.store(definition, infoOf(connection), tools),
  });
  // What is known of its tools may be old, or from another client; who needs them hears of a failure.
  toolList.tools().catch(() => undefined);
  return { definition, connection, toolList, relay, succeeded: options.onSucceeded };
}

function infoOf({ client }: Connection): ServerInfo {
  return parseServerInfo({ ...client.getServerVersion(), instructions: client.getInstructions() });
}
