import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { BridgeEvent, BridgeEvents } from "../core/bridge-events.ts";
import type { Closable } from "../core/lifecycle.ts";
import { COMMIT, VERSION } from "../core/version.ts";

/** Servers that have a name of their own in labels; each costs some thirty lines of the answer. */
const MAX_SERVERS = 50;
const OTHER = "other";
/** In seconds. A run takes a millisecond or two minutes, a call of a server as well. */
const RUN_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const WAIT_BUCKETS = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export interface MetricsPorts {
  readonly events: BridgeEvents;
  /** Sandboxes that run for nobody yet. */
  readonly spares: () => number;
}

/** What has happened since it was created, in numbers. Who creates it closes it: that ends the listening. */
export interface Metrics extends Closable {
  /** Answers a scrape, in the text format of Prometheus. */
  respond(): Promise<Response>;
  /** The name, type and labels of each of ours, for documentation and tests. */
  describe(): readonly { readonly name: string; readonly type: string; readonly labels: readonly string[] }[];
}

/** Starts to count what happens in a bridge. Names of servers come from files, so only so many become labels. */
export function createMetrics({ events, spares }: MetricsPorts): Metrics {
  const registry = new Registry();
  const meters = createMeters(registry, spares);
  collectDefaultMetrics({ register: registry });
  const running = new Set<string>();
  const nameServer = createServerNamer();

  const take = (event: BridgeEvent): void => {
    switch (event.kind) {
      case "session-opened":
        meters.sessions.inc();
        return;
      case "session-closed":
        meters.sessions.dec();
        return;
      case "execution-started":
        running.add(event.executionId);
        meters.running.set(running.size);
        meters.queueWait.observe(event.waitedMs / 1000);
        return;
      case "execution-ended":
        running.delete(event.executionId);
        meters.running.set(running.size);
        meters.executions.inc({ outcome: event.outcome });
        if (event.outcome !== "refused")
          meters.duration.observe({ outcome: event.outcome }, event.durationMs / 1000);
        return;
      case "sandbox-started":
        meters.sandboxes.inc({ use: "session" });
        meters.poolTakes.inc({ result: event.fromPool ? "hit" : "miss" });
        meters.sandboxStart.observe(event.durationMs / 1000);
        return;
      case "sandbox-stopped":
        meters.sandboxes.dec({ use: "session" });
        return;
      case "kernel-died":
        meters.deaths.inc({ cause: event.cause });
        return;
      case "frame-rejected":
        meters.rejected.inc();
        return;
      case "upstream-called": {
        const { outcome, approval, durationMs } = event;
        const server = nameServer(event);
        meters.calls.inc({ server, outcome });
        meters.callDuration.observe({ server }, durationMs / 1000);
        if (approval !== undefined) meters.approvals.inc({ answer: approval });
        return;
      }
    }
  };
  const stop = events.listen(take);

  const close = async () => {
    stop();
    registry.clear();
  };
  return {
    async respond() {
      return new Response(await registry.metrics(), {
        headers: { "content-type": registry.contentType, "cache-control": "no-store" },
      });
    },
    describe: () => meters.described,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The names of the first servers, and one for all others. Code can ask for servers that do not exist, by any name. */
function createServerNamer() {
  const named = new Set<string>();
  return ({ server, code }: Extract<BridgeEvent, { readonly kind: "upstream-called" }>): string => {
    if (named.has(server)) return server;
    if (code === "UPSTREAM_UNKNOWN_SERVER" || named.size >= MAX_SERVERS) return OTHER;
    named.add(server);
    return server;
  };
}

function createMeters(registry: Registry, spares: () => number) {
  const described: { name: string; type: string; labels: readonly string[] }[] = [];
  const options = <const L extends string>(type: string, name: string, help: string, labelNames: L[]) => {
    described.push({ name, type, labels: labelNames });
    return { name, help, labelNames, registers: [registry] };
  };
  const counter = <const L extends string>(name: string, help: string, labels: L[] = []) =>
    new Counter<L>(options("counter", name, help, labels));
  const histogram = <const L extends string>(
    name: string,
    help: string,
    buckets: number[],
    labels: L[] = [],
  ) => new Histogram<L>({ ...options("histogram", name, help, labels), buckets });
  const gauge = <const L extends string>(name: string, help: string, labels: L[] = []) =>
    options("gauge", name, help, labels);

  new Gauge({
    ...gauge("sandpy_build_info", "1, with what was built in the labels.", ["version", "commit"]),
  }).set({ version: VERSION, commit: COMMIT }, 1);
  return {
    described,
    executions: counter("sandpy_executions_total", "Executions that ended, by how.", ["outcome"]),
    running: new Gauge(gauge("sandpy_executions_running", "Executions that run now.")),
    duration: histogram("sandpy_execution_duration_seconds", "How long code ran.", RUN_BUCKETS, ["outcome"]),
    queueWait: histogram(
      "sandpy_execution_queue_wait_seconds",
      "How long executions waited for their turn in their session.",
      WAIT_BUCKETS,
    ),
    sessions: new Gauge(gauge("sandpy_sessions", "Sessions that are open.")),
    sandboxes: new Gauge({
      ...gauge("sandpy_sandboxes", "Sandboxes that run, for a session or as a spare of the pool.", ["use"]),
      collect() {
        this.inc({ use: "session" }, 0); // so that it is there before the first
        this.set({ use: "spare" }, spares());
      },
    }),
    sandboxStart: histogram(
      "sandpy_sandbox_start_duration_seconds",
      "How long sessions waited for a sandbox.",
      WAIT_BUCKETS,
    ),
    poolTakes: counter(
      "sandpy_pool_takes_total",
      "Sandboxes that sessions needed, by whether one was ready (hit) or had to be started (miss).",
      ["result"],
    ),
    deaths: counter("sandpy_kernel_deaths_total", "Python processes that died, by cause.", ["cause"]),
    rejected: counter("sandpy_frames_rejected_total", "What sandboxes sent that was no valid frame."),
    calls: counter("sandpy_upstream_calls_total", "Calls of MCP servers by code, by how they ended.", [
      "server",
      "outcome",
    ]),
    approvals: counter(
      "sandpy_approvals_total",
      "Calls that had to be approved by the user, by the answer.",
      ["answer"],
    ),
    callDuration: histogram(
      "sandpy_upstream_call_duration_seconds",
      "How long calls of MCP servers took.",
      RUN_BUCKETS,
      ["server"],
    ),
  };
}
