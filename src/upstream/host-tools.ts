import { BridgeError } from "../core/errors.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import type { HostTools, ServerSummary, ToolCall, ToolResult, ToolSummary } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import { listNames, nearestNames } from "./names.ts";
import { type Clock, type LiveServer, Pool, systemClock } from "./pool.ts";

const MAX_LISTED_SERVERS = 10;
const CONNECT_MS = 30_000;
const LIST_MS = 30_000;
/** Many servers end only at a signal; a shutdown waits this long for those that end by themselves. */
const STOP_GRACE_MS = 1500;

export interface UpstreamOptions {
  /** Reads the configuration files; called at the first need, and when an unknown server is asked for. */
  readonly discover: () => Promise<Discovery>;
  /** The bridge's environment; servers get the safe part of it. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that every server gets beside, such as the depth guard. */
  readonly childEnv?: Readonly<Record<string, string>>;
  readonly log: Log;
  readonly clock?: Clock;
  /** Milliseconds for the start of a server, for one page of its tools, and for its end once its stdin is closed. */
  readonly limits?: { readonly connectMs?: number; readonly listMs?: number; readonly stopGraceMs?: number };
}

/** The upstream servers. Who creates it closes it: that ends every server. */
export interface Upstream extends HostTools, Closable {
  /** Reads the configuration files again: new servers appear; those that are gone or changed are stopped at once. */
  refresh(): Promise<Discovery>;
}

/** Creates the host's side of what Python may call. Nothing is read or started before it is needed. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { log, env, childEnv = {}, clock = systemClock, limits = {} } = options;
  const { connectMs = CONNECT_MS, listMs = LIST_MS, stopGraceMs = STOP_GRACE_MS } = limits;
  const pool = new Pool({ log, env, childEnv, clock, connectMs, listMs, stopGraceMs });
  const reported = new Set<string>();
  const registry = new Registry(options.discover, (discovery) => {
    pool.retain(discovery.servers);
    for (const { where, message } of discovery.problems) {
      const line = `configuration: ${where}: ${message}`;
      if (!reported.has(line)) log.warning(line);
      reported.add(line);
    }
  });

  const acquire = async (name: string, signal: AbortSignal): Promise<LiveServer> => {
    const definition = await waitFor(registry.find(name), signal, "reading the configuration of servers");
    return pool.acquire(definition, signal);
  };

  return {
    async servers(): Promise<readonly ServerSummary[]> {
      const { servers } = await registry.current();
      return servers.map((definition) => {
        const { name, alias, description } = definition;
        return { name, alias, description, status: pool.status(definition) };
      });
    },
    async connect(server: string, signal: AbortSignal): Promise<void> {
      await acquire(server, signal);
    },
    async tools(server: string, signal: AbortSignal): Promise<readonly ToolSummary[]> {
      const live = await acquire(server, signal);
      const { listTools } = await import("./call.ts"); // loads the SDK, which is loaded by now
      return listTools(live, signal);
    },
    async callTool(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
      const live = await acquire(call.server, signal);
      const { callTool } = await import("./call.ts");
      return callTool(live, call, signal);
    },
    refresh: () => registry.refresh(),
    close: () => pool.close(),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/** The definitions as they were read last. */
class Registry {
  readonly #discover: () => Promise<Discovery>;
  readonly #onRead: (discovery: Discovery) => void;
  #current: Promise<Discovery> | undefined;
  #refreshing: Promise<Discovery> | undefined;

  constructor(discover: () => Promise<Discovery>, onRead: (discovery: Discovery) => void) {
    this.#discover = discover;
    this.#onRead = onRead;
  }

  current(): Promise<Discovery> {
    return this.#current ?? this.refresh();
  }

  /** One reading serves all who ask while it is under way. */
  refresh(): Promise<Discovery> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** A server by name or alias; an unknown one is looked for in the files once more. */
  async find(wanted: string): Promise<ServerDefinition> {
    const isFirst = this.#current === undefined;
    const read = await this.current();
    const known = findServer(read, wanted);
    if (known !== undefined) return known;
    const discovery = isFirst ? read : await this.refresh();
    const found = findServer(discovery, wanted);
    if (found === undefined) throw unknownServer(wanted, discovery);
    return found;
  }

  async #read(): Promise<Discovery> {
    const discovery = await this.#discover();
    this.#current = Promise.resolve(discovery);
    this.#onRead(discovery);
    return discovery;
  }
}

function findServer({ servers }: Discovery, wanted: string): ServerDefinition | undefined {
  return servers.find(({ name }) => name === wanted) ?? servers.find(({ alias }) => alias === wanted);
}

function unknownServer(wanted: string, { servers, problems }: Discovery): BridgeError {
  const names = servers.map(({ name }) => name);
  const [near] = nearestNames(wanted, names, 1);
  const guess = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
  const known =
    names.length === 0 ? "none is configured." : `the servers are ${listNames(names, MAX_LISTED_SERVERS)}.`;
  const faulty = problems.length === 1 ? "One definition has" : `${problems.length} definitions have`;
  const excuse = problems.length === 0 ? "" : ` ${faulty} a fault and may be missing for it.`;
  const message = `no server is called ${JSON.stringify(wanted)}: ${known}${guess}${excuse}`;
  return new BridgeError("UPSTREAM_UNKNOWN_SERVER", message, {
    hint: `${names.length === 0 ? "Ask" : "Use one of these names, or ask"} the user to define the server in a file of ~/MCPs.`,
    data: { server: wanted },
  });
}
