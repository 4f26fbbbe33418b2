import { type BridgeEvents, createSessionRef, type SessionRef } from "../core/bridge-events.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { shellPath } from "../core/shell-word.ts";
import type { Tracing } from "../core/tracing.ts";
import type { Discovery, DiscoveryProblem, ServerDefinition } from "../discovery/server-definition.ts";
import type { HostTools, KnownServer as KnownServerSummary } from "../kernel/host-tools.ts";
import { AddableServers } from "./added-servers.ts";
import { Approvals } from "./approvals/approvals.ts";
import { AuditLog, type AuditLogOptions } from "./audit/audit-log.ts";
import { explainUnusable, notUsable } from "./availability.ts";
import { CallCap, type CallCapOptions } from "./call-cap.ts";
import { CallWatch } from "./call-watch.ts";
import { Catalogue, type CatalogueReader, type KnownServer } from "./catalogue/catalogue.ts";
import type { ClientPeer } from "./client-peer.ts";
import { type Clock, systemClock } from "./clock.ts";
import { Learner } from "./learner.ts";
import { Pool } from "./pool.ts";
import { Registry } from "./registry.ts";
import { Remembered } from "./remembered.ts";
import { describeKnown } from "./server-finder.ts";
import { createSessionTools } from "./session-tools.ts";
import { ToolFinder } from "./tool-finder.ts";

const CONNECT_MS = 30_000;
const LIST_MS = 30_000;
const IDLE_MS = 600_000;
const APPROVAL_MS = 300_000;
/** Many servers end only at a signal; a shutdown waits this long for those that end by themselves. */
const STOP_GRACE_MS = 1500;

export interface UpstreamOptions {
  /** Reads the configuration files; called at the first need, when they change, and when a server is missing. */
  readonly discover: () => Promise<Discovery>;
  /** Another text after each change of what `discover` reads; absent: it is read again only when a server is missing. */
  readonly stamp?: () => Promise<string>;
  /** The bridge's environment; servers get the safe part of it. */
  readonly env: Readonly<Record<string, string>>;
  /** Names or globs of servers that are switched off and that a session may add; absent: none. */
  readonly addable?: readonly string[];
  /** How many calls one execution may make; absent: as many as it wants. */
  readonly maxCalls?: CallCapOptions;
  /** Milliseconds that one execution may wait for the user in all. */
  readonly approvalMs?: number;
  /** Where it is written down what was called; absent: nowhere. */
  readonly audit?: Omit<AuditLogOptions, "log"> | undefined;
  /** Variables that every server gets beside, such as the depth guard. */
  readonly childEnv?: Readonly<Record<string, string>>;
  /** Where the tools of servers are remembered; absent: in memory alone. */
  readonly catalogueDir?: string;
  /** Our folder of what must not be lost: the sign-ins to servers. Without it no server is signed in to. */
  readonly dataDir?: string;
  /** Our folder of what can be found out again: which era servers speak. Without it each bridge finds out. */
  readonly cacheDir?: string;
  readonly log: Log;
  /** Who is told of calls; absent: nobody. */
  readonly events?: BridgeEvents | undefined;
  /** Where calls are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
  readonly clock?: Clock;
  /** Milliseconds after its last use until a server is stopped. */
  readonly idleMs?: number;
  /** Milliseconds for the start of a server, for one page of its tools, and for its end once its stdin is closed. */
  readonly limits?: { readonly connectMs?: number; readonly listMs?: number; readonly stopGraceMs?: number };
}

/** One server as it is now. */
export interface ServerHealth extends Pick<KnownServerSummary, "name" | "status" | "tools"> {
  /** Why it failed, or is not usable and what the user can do. */
  readonly reason: string | null;
}

/** The upstream servers, shared by all sessions. Who creates it closes it: that ends every server. */
export interface Upstream extends Closable {
  /**
   * What one session may ask of the servers. `peer` gives the client for whom the session runs now: servers' own requests
   * and messages that belong to a call go to the one at its beginning; without one they are refused and dropped. `session`
   * is named in the audit; absent: a new one of the local caller.
   */
  openSession(peer?: () => ClientPeer | undefined, session?: SessionRef): HostTools;
  /** A client is there: servers may learn what it can do. */
  welcome(peer: ClientPeer): void;
  /** A client is gone: nothing is for it any more. */
  forget(peer: ClientPeer): void;
  /**
   * Asks a server, by name or alias, for its tools now, also where they are known. It is stopped again if nobody uses it.
   * Rejects with an `UPSTREAM_*` error.
   */
  ask(server: string, signal: AbortSignal): Promise<KnownServer>;
  /** All servers as they are now, each with why it failed or is not usable. Starts and asks none. */
  health(): Promise<readonly ServerHealth[]>;
  /** What is known of the servers' tools, whether they run or not. */
  readonly catalogue: CatalogueReader;
  /** All definitions. The files are read where they were not yet, or have changed. */
  definitions(): Promise<Discovery>;
  /** Calls `listener` after each reading of the files; returns how to stop that. */
  onRead(listener: (discovery: Discovery) => void): () => void;
  /** Reads the configuration files again: new servers appear; those that are gone or changed are stopped at once. */
  refresh(): Promise<Discovery>;
}

/** Creates the host's side of what Python may call. Nothing is read or started before it is needed. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { log, env, childEnv = {}, clock = systemClock, idleMs = IDLE_MS, limits = {} } = options;
  const { connectMs = CONNECT_MS, listMs = LIST_MS, stopGraceMs = STOP_GRACE_MS } = limits;
  const peers = new Set<ClientPeer>();
  const catalogue = new Catalogue({ folder: options.catalogueDir, log });
  const pool = new Pool({
    catalogue,
    remembered: new Remembered({ dataDir: options.dataDir, cacheDir: options.cacheDir }),
    log,
    env,
    childEnv,
    clock,
    connectMs,
    listMs,
    stopGraceMs,
    idleMs,
    peers,
  });
  const addable = new AddableServers(options.addable ?? []);
  const listeners = new Set<(discovery: Discovery) => void>();
  const report = createReporter(log);
  const registry = new Registry({
    discover: options.discover,
    stamp: options.stamp,
    clock,
    onRead(discovery) {
      const { servers, problems } = discovery;
      pool.retain(
        servers.filter((server) => server.availability.kind === "usable" || addable.isInUse(server)),
      );
      catalogue.retain(servers);
      report(problems, servers);
      for (const listener of listeners) listener(discovery);
    },
  });
  const finder = new ToolFinder(catalogue);
  const learner = new Learner({ pool, catalogue, log });
  const audit = options.audit === undefined ? undefined : new AuditLog({ ...options.audit, log });
  const close = async () => {
    learner.close();
    await pool.close();
    await Promise.all([catalogue.close(), audit?.close()]);
  };
  return {
    welcome(peer) {
      peers.add(peer);
      peer.onRootsChanged(() => pool.rootsChanged());
    },
    openSession(peer = () => undefined, session = createSessionRef()) {
      return createSessionTools({
        registry,
        pool,
        catalogue,
        learner,
        finder,
        peer,
        approvals: new Approvals({ peer, timeoutMs: options.approvalMs ?? APPROVAL_MS }),
        addable,
        watch: new CallWatch({
          session,
          events: options.events,
          tracing: options.tracing,
          cap: options.maxCalls === undefined ? undefined : new CallCap(options.maxCalls),
          audit,
        }),
        home: env["HOME"],
        listMs,
      });
    },
    forget: (peer) => void peers.delete(peer),
    async ask(name, signal) {
      const definition = await registry.find(name);
      const unusable = explainUnusable(definition, env["HOME"]);
      if (unusable !== undefined) throw notUsable(definition, unusable);
      return learner.ask(definition, signal);
    },
    async health() {
      const { servers } = await registry.current();
      await catalogue.load(servers);
      const facts = { status: pool.status.bind(pool), catalogue, home: env["HOME"] };
      return servers.map((definition) => {
        const { name, status, reason, tools } = describeKnown(definition, facts);
        return { name, status, reason: reason ?? pool.fault(definition)?.message ?? null, tools };
      });
    },
    catalogue,
    definitions: () => registry.current(),
    onRead(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh: () => registry.refresh(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Logs each problem, and each project that waits for trust, once for as long as it lasts. */
function createReporter(
  log: Log,
): (problems: readonly DiscoveryProblem[], servers: readonly ServerDefinition[]) => void {
  let reported = new Set<string>();
  return (problems, servers) => {
    const say = (some: readonly DiscoveryProblem[]) =>
      some.map(({ where, message }) => `configuration: ${where}: ${message}`);
    const faults = say(problems.filter(({ isNote }) => isNote !== true));
    const notes = say(problems.filter(({ isNote }) => isNote === true));
    const waiting = describeUntrusted(servers);
    for (const line of new Set(faults)) if (!reported.has(line)) log.warning(line);
    for (const line of waiting) if (!reported.has(line)) log.info(line);
    for (const line of notes) if (!reported.has(line)) log.debug(line);
    reported = new Set([...faults, ...waiting, ...notes]);
  };
}

function describeUntrusted(servers: readonly ServerDefinition[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { availability } of servers) {
    if (availability.kind !== "untrusted") continue;
    counts.set(availability.folder, (counts.get(availability.folder) ?? 0) + 1);
  }
  return [...counts].map(
    ([folder, count]) =>
      `${count} of the servers that ${folder} defines are not started until you trust them: sandpy trust ${shellPath(folder)}`,
  );
}
