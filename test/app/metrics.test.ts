import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMetrics, type Metrics } from "../../src/app/metrics.ts";
import {
  type BridgeEvent,
  type BridgeEvents,
  createBridgeEvents,
  createSessionRef,
} from "../../src/core/bridge-events.ts";

const ref = createSessionRef();
const open: Metrics[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((metrics) => metrics.close()));
});

function createCounted(spares = 0): { readonly metrics: Metrics; readonly events: BridgeEvents } {
  const events = createBridgeEvents();
  const metrics = createMetrics({ events, spares: () => spares });
  open.push(metrics);
  return { metrics, events };
}

/** The samples of an answer by name and labels. */
async function scrape(metrics: Metrics): Promise<Readonly<Record<string, number>>> {
  const text = await (await metrics.respond()).text();
  const samples = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    });
  return Object.fromEntries(samples);
}

function called(server: string, more: Partial<Extract<BridgeEvent, { kind: "upstream-called" }>> = {}) {
  return {
    kind: "upstream-called",
    executionId: "e",
    server,
    method: "tools/call",
    tool: "t",
    outcome: "ok",
    code: undefined,
    startedAtMs: 0,
    durationMs: 20,
    ...ref,
    ...more,
  } as const;
}

describe("metrics", () => {
  test("count what happens", async () => {
    const { metrics, events } = createCounted(1);
    const happened: readonly BridgeEvent[] = [
      { kind: "session-opened", ...ref },
      { kind: "session-opened", ...ref },
      { kind: "session-closed", reason: "ended", ...ref },
      { kind: "execution-queued", executionId: "a", code: "1", ...ref },
      { kind: "execution-started", executionId: "a", waitedMs: 300, ...ref },
      { kind: "execution-started", executionId: "b", waitedMs: 0, ...ref },
      { kind: "sandbox-started", fromPool: true, durationMs: 5, ...ref },
      { kind: "sandbox-started", fromPool: false, durationMs: 700, ...ref },
      { kind: "sandbox-stopped", ...ref },
      { kind: "kernel-died", cause: "out_of_memory", ...ref },
      { kind: "frame-rejected", reason: "x", ...ref },
      { kind: "execution-ended", executionId: "a", outcome: "ok", durationMs: 40, ...ref },
      {
        kind: "execution-ended",
        executionId: "c",
        outcome: "refused",
        durationMs: 0,
        code: "SESSION_BUSY",
        ...ref,
      },
      called("notes", { approval: "session" }),
      called("notes", { outcome: "error", code: "UPSTREAM_FAILED" }),
    ];
    for (const event of happened) events.emit(event);
    expect(await scrape(metrics)).toMatchObject({
      sandpy_sessions: 1,
      'sandpy_executions_total{outcome="ok"}': 1,
      'sandpy_executions_total{outcome="refused"}': 1,
      sandpy_executions_running: 1,
      'sandpy_execution_duration_seconds_bucket{le="0.025",outcome="ok"}': 0,
      'sandpy_execution_duration_seconds_bucket{le="0.1",outcome="ok"}': 1,
      'sandpy_execution_duration_seconds_sum{outcome="ok"}': 0.04,
      'sandpy_execution_queue_wait_seconds_bucket{le="0.1"}': 1,
      'sandpy_execution_queue_wait_seconds_bucket{le="0.5"}': 2,
      'sandpy_sandboxes{use="session"}': 1,
      'sandpy_sandboxes{use="spare"}': 1,
      'sandpy_pool_takes_total{result="hit"}': 1,
      'sandpy_pool_takes_total{result="miss"}': 1,
      'sandpy_sandbox_start_duration_seconds_bucket{le="0.01"}': 1,
      'sandpy_kernel_deaths_total{cause="out_of_memory"}': 1,
      sandpy_frames_rejected_total: 1,
      'sandpy_upstream_calls_total{server="notes",outcome="ok"}': 1,
      'sandpy_upstream_calls_total{server="notes",outcome="error"}': 1,
      'sandpy_approvals_total{answer="session"}': 1,
      'sandpy_upstream_call_duration_seconds_count{server="notes"}': 2,
    });
  });

  test("come in Prometheus' own content type, with the process's and what was built", async () => {
    const { metrics } = createCounted();
    const response = await metrics.respond();
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    expect(text).toContain('sandpy_build_info{version="0.0.0-dev",commit="unknown"} 1');
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
  });

  test("name fifty servers, and none that does not exist", async () => {
    const { metrics, events } = createCounted();
    events.emit(called("made-up", { outcome: "error", code: "UPSTREAM_UNKNOWN_SERVER" }));
    for (let n = 0; n < 200; n++) events.emit(called(`s${n}`));
    const counts = Object.entries(await scrape(metrics)).filter(([name]) =>
      name.startsWith("sandpy_upstream_calls_total"),
    );
    expect(counts.length).toBe(52);
    expect(Object.fromEntries(counts)).toMatchObject({
      'sandpy_upstream_calls_total{server="other",outcome="error"}': 1,
      'sandpy_upstream_calls_total{server="s49",outcome="ok"}': 1,
      'sandpy_upstream_calls_total{server="other",outcome="ok"}': 150,
    });
  });

  test("escape what a server is called", async () => {
    const { metrics, events } = createCounted();
    events.emit(called('a"} 1\nforged 2\\'));
    const text = await (await metrics.respond()).text();
    expect(text).toContain('{server="a\\"} 1\\nforged 2\\\\",outcome="ok"} 1');
    expect(text).not.toMatch(/^forged/m);
  });

  test("stop to listen when they are closed", async () => {
    const { metrics, events } = createCounted();
    expect(events.isHeard).toBe(true);
    await metrics.close();
    expect(events.isHeard).toBe(false);
  });

  test("are those of the documentation", () => {
    const { metrics } = createCounted();
    const text = readFileSync(join(import.meta.dir, "../../docs/observability.md"), "utf8");
    const rows = [...text.matchAll(/^\| `(sandpy_\w+)` *\| (\w+) *\| ([^|]*?) *\|/gm)];
    const documented = rows.map(([, name = "", type = "", labels = ""]) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label),
    }));
    expect(documented).toEqual(metrics.describe().map((meter) => ({ ...meter, labels: [...meter.labels] })));
  });
});
