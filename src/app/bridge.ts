import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { detectEngine } from "../container/detect.ts";
import { type BridgeEvents, createBridgeEvents } from "../core/bridge-events.ts";
import { LOCAL_CALLER } from "../core/caller.ts";
import { type Closable, Scope } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { readOwnLimits, scarcityOf } from "../core/own-limits.ts";
import { outsideRuns } from "../core/run-context.ts";
import { VERSION } from "../core/version.ts";
import type { HttpRoutes } from "../mcp/http/http-env.ts";
import type { PythonRunner } from "../mcp/python-runner.ts";
import type { StdioServing } from "../mcp/stdio.ts";
import type { Memory } from "../memory/memory.ts";
import type { SessionHandles } from "../session/handles.ts";
import type { Session } from "../session/session.ts";
import type { ClientPeer } from "../upstream/client-peer.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { Connection, ConnectionOptions, SessionPeers } from "./connection.ts";
import { logEvents } from "./event-log.ts";
import type { HttpServing } from "./http-service.ts";
import { KernelLauncher, type KernelLauncherOptions } from "./kernel-launcher.ts";
import { loadTracing } from "./load-tracing.ts";
import type { SessionRooms } from "./open-session.ts";
import { rememberNames } from "./remembered-names.ts";
import { createServerNames } from "./server-names.ts";
import { serveOnceSpokenTo } from "./stdio-service.ts";
import type { ClosableTracing } from "./tracing.ts";
import { WarmPool } from "./warm-pool.ts";

/** Closing a session may take a kill of its container, closing the upstream the stop ladder of a child. */
const CLOSE_DEADLINE_MS = 8000;

/** MCP clients give up on a call after a minute: it says before how far a pull is. */
const CALL_PULL_WAIT_MS = 25_000;
/** Who started a program from a shell has all the time that a pull may take. */
const SHELL_PULL_WAIT_MS = 15 * 60_000;
/** An engine that is known is called within 10 ms; where it must be looked for first, the client need not wait for that. */
const LAUNCH_WAIT_MS = 25;

export interface BridgeOptions {
  readonly log: Log;
  /** The binary itself, so that a configuration that names it is not started; absent when run from source. */
  readonly selfPath?: string;
}

/** What sessions and connections are made with, once it is loaded. */
interface Rooms {
  readonly opening: typeof import("./open-session.ts");
  readonly createConnection: typeof import("./connection.ts")["createConnection"];
  readonly upstream: Upstream;
  readonly shared: SessionRooms;
  readonly peers: SessionPeers;
  readonly handles: SessionHandles;
}

/** The whole house, wired. Nothing is looked for or started before a client speaks or code runs. */
export interface Bridge extends Closable {
  /** What happens in it; whoever listens bounds what it keeps. */
  readonly events: BridgeEvents;
  /** Makes a sandbox ready for whoever needs one first. */
  warm(): void;
  /** Lets a client in. Whoever connects closes the connection when the client is gone. */
  connect(client: ConnectionOptions & { readonly peer: ClientPeer }): Promise<Connection>;
  /** The sessions of all callers. */
  sessions(): Promise<SessionHandles>;
  /** A new sandbox with its own state, for a program of the command line; the bridge closes it at the latest when it closes itself. */
  openSession(): Promise<Session>;
  /** Serves one MCP client over a pair of streams; the connection is one session. */
  serveStdio(io: { readonly stdin: Readable; readonly stdout: Writable }): StdioServing;
  /** Serves MCP clients by HTTP, as `config.http` says. Throws `CONFIG_INVALID` or `HTTP_LISTEN_FAILED`. */
  serveHttp(): Promise<HttpServing>;
}

/**
 * Creates the bridge. The caller closes it: that ends every session, container and upstream server. What a container does
 * not need to begin is loaded after that, since loading blocks this process.
 */
export function createBridge(config: Config, { log, selfPath }: BridgeOptions): Bridge {
  const scope = new Scope(CLOSE_DEADLINE_MS);
  const scarcity = scarcityOf(readOwnLimits());
  if (scarcity !== undefined) {
    log.warning(`this process ${scarcity.what}: what needs more will fail`, {
      allow_more_by: scarcity.command,
    });
  }
  const events = createBridgeEvents((error) =>
    log.error("could not take note of an event", { error: String(error) }),
  );
  let stopLogging = logEvents(events, log, "debug");
  // Closed last: by then all that is traced is over.
  let tracing: Promise<ClosableTracing | undefined> | undefined;
  const getTracing = () => {
    tracing ??= loadTracing(config, log);
    return tracing;
  };
  scope.add("the traces", async () => (await tracing)?.close());
  let upstream: Promise<Upstream> | undefined;
  const loadUpstream = () => {
    upstream ??= Promise.all([import("./open-upstream.ts"), getTracing()]).then(
      ([{ openUpstream }, traces]) => openUpstream(config, { log, selfPath, events, tracing: traces }),
    );
    return upstream;
  };
  scope.add("the upstream servers", async () => (await upstream)?.close());
  let memory: Promise<Memory> | undefined;
  const loadMemory = () => {
    memory ??= import("../memory/memory.ts").then(({ createMemory }) =>
      createMemory({ stateDir: config.stateDir, quotaBytes: config.projectsQuotaBytes }),
    );
    return memory;
  };
  scope.add("what is kept", async () => (await memory)?.close());
  const closing = new AbortController();
  const createLauncher = (
    options: Pick<
      KernelLauncherOptions,
      "pullWaitMs" | "wholeOutput" | "hasStdin" | "warnsOfHoles" | "onLaunch"
    >,
  ): KernelLauncher =>
    new KernelLauncher({
      ...options,
      config,
      log,
      findEngine: (signal) =>
        detectEngine({ engine: config.engine, ociRuntime: config.ociRuntime, env: config.env, log }, signal),
      signal: closing.signal,
    });
  const launched = Promise.withResolvers<void>();
  const launcher = createLauncher({
    pullWaitMs: CALL_PULL_WAIT_MS,
    wholeOutput: false,
    hasStdin: false,
    warnsOfHoles: true,
    onLaunch: launched.resolve,
  });
  const pool = new WarmPool({
    kernels: launcher,
    log,
    idleTimeoutMs: config.idleTimeoutMs,
  });
  // Set up as one, once: what it takes to run code but for a container.
  let rooms: Promise<Rooms> | undefined;
  const loadRooms = () => {
    rooms ??= outsideRuns(async () => {
      const [opening, { createConnection }, upstreamServers, kept] = await Promise.all([
        import("./open-session.ts"),
        import("./connection.ts"),
        loadUpstream(),
        loadMemory(),
      ]);
      const traces = await getTracing();
      const shared = { config, log, events, tracing: traces, upstream: upstreamServers, memory: kept };
      const peers: SessionPeers = new WeakMap();
      const handles = opening.createHandles(shared, pool, peers);
      return { opening, createConnection, upstream: upstreamServers, shared, peers, handles };
    });
    return rooms;
  };
  const lone = new Set<Session>();
  // Side by side: each may have to wait for the engine.
  scope.add("the sandboxes", async () => {
    const closable = [pool, (await rooms)?.handles, ...lone];
    await Promise.all(closable.map((each) => each?.close("shutdown")));
  });

  const connect: Bridge["connect"] = async ({ peer, ...options }) => {
    const { createConnection, upstream: servers, peers, handles } = await loadRooms();
    servers.welcome(peer);
    const connection = createConnection(options, { handles, peers, defaultTimeoutMs: config.timeoutMs });
    const closeConnection = async () => {
      servers.forget(peer);
      await connection.close();
    };
    return { ...connection, close: closeConnection, [Symbol.asyncDispose]: closeConnection };
  };

  const createServerOptions = async () => ({
    name: "sandpy",
    version: VERSION,
    defaults: { timeoutSeconds: config.timeoutMs / 1000, maxTimeoutSeconds: config.maxTimeoutMs / 1000 },
    outputMode: config.outputMode,
    log,
    tracing: await getTracing(),
    servers: createServerNames({
      loadUpstream,
      remembered: rememberNames(config),
      signal: closing.signal,
    }),
    manual: (await import("../kernel/manual.ts")).MANUAL,
  });

  const close = () => {
    closing.abort();
    return scope.close();
  };

  return {
    events,
    warm: () => pool.warm(),
    connect,
    sessions: async () => (await loadRooms()).handles,
    async openSession() {
      const { opening, shared } = await loadRooms();
      const kernels = createLauncher({
        pullWaitMs: SHELL_PULL_WAIT_MS,
        wholeOutput: true,
        hasStdin: true,
        warnsOfHoles: false,
      });
      const session = opening.openSession(shared, LOCAL_CALLER, kernels);
      lone.add(session);
      return session;
    },
    serveStdio(io) {
      return serveOnceSpokenTo({
        stdin: io.stdin,
        async onClient() {
          pool.warm(); // its first call is to find a sandbox
          await Promise.race([launched.promise, sleep(LAUNCH_WAIT_MS, undefined, { ref: false })]);
        },
        async serve(stdin) {
          const [{ createServer }, { serveStdio }, { McpClientPeer }, options] = await Promise.all([
            import("../mcp/server.ts"),
            import("../mcp/stdio.ts"),
            import("../mcp/client-peer.ts"),
            createServerOptions(),
          ]);
          const peer = new McpClientPeer();
          let connecting: Promise<Connection> | undefined;
          const getConnection = () => {
            connecting ??= connect({ caller: LOCAL_CALLER, peer, hasDefault: true });
            return connecting;
          };
          const runner: PythonRunner = {
            run: async (request, signal) => (await getConnection()).runner.run(request, signal),
          };
          return serveStdio({
            createServer(shutdown, unread) {
              pool.warm(); // unless that was done when the client began to speak
              // What runs code is loaded once the client has its answer; whoever runs some hears why it could not be.
              setImmediate(() => void getConnection().catch(() => undefined));
              return createServer(runner, { ...options, shutdown, unread, peer });
            },
            log,
            stdin,
            stdout: io.stdout,
          });
        },
      });
    },
    async serveHttp() {
      stopLogging();
      stopLogging = logEvents(events, log, "info"); // of a server for many, each run is a line
      const [{ serveHttp }, { createHealthRoutes }, { openBoard }, { createSessionRoutes }, rooms] =
        await Promise.all([
          import("./http-service.ts"),
          import("./health-routes.ts"),
          import("./open-board.ts"),
          import("../mcp/http/session-routes.ts"),
          loadRooms(),
        ]);
      const { handles, upstream: upstreamServers } = rooms;
      const health = createHealthRoutes({
        events,
        launcher,
        pool,
        isMetricsOpen: config.http.metricsOpen,
      });
      scope.add("the metrics", health.close);
      const board = openBoard({ events, handles, admins: config.http.admins });
      scope.add("the list of sessions", board.close);
      const routes: HttpRoutes[] = [health.routes, createSessionRoutes(board, log)];
      if (config.http.dashboard) {
        const { createDashboardRoutes } = await import("./dashboard-routes.ts");
        const dashboard = createDashboardRoutes({ board, upstream: upstreamServers, log });
        scope.add("the dashboard", dashboard.close);
        routes.push(dashboard.routes);
      }
      return serveHttp({
        config,
        log,
        server: await createServerOptions(),
        onClient: () => pool.warm(),
        routes,
        connect,
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
