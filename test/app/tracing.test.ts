import { describe, expect, test } from "bun:test";
import { createTracing } from "../../src/app/tracing.ts";
import type { TracingSettings } from "../../src/config/tracing.ts";
import { BridgeError } from "../../src/core/errors.ts";
import { currentRun } from "../../src/core/run-context.ts";
import { parseTraceContext, traced } from "../../src/core/tracing.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { type Collector, startCollector } from "../helpers/otlp-collector.ts";
import { patient } from "../helpers/patient.ts";
import { until } from "../helpers/until.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const OTHER = "00f067aa0ba902b7";
const ALL = { isParentBased: true, ratio: 1 };

function open(url: string | undefined, more: Partial<TracingSettings> = {}) {
  const log = createMemoryLog();
  const tracing = createTracing({ url, faults: [], sampler: ALL, ...more }, { log });
  if (tracing === undefined) throw new Error("there is no tracing");
  return { tracing, log };
}

describe("spans reach a collector", () => {
  test("as parts of one another, with what is said of them", async () => {
    await using collector = startCollector();
    const { tracing, log } = open(`${collector.origin}/v1/traces`);
    const parent = parseTraceContext(`00-${TRACE}-${PARENT}-01`, "vendor=1");
    const link = parseTraceContext(`00-${"a".repeat(32)}-${OTHER}-01`, undefined);
    const failed = traced(tracing, { name: "outer", kind: "server", parent, link }, async (outer) => {
      outer?.set({ "a.text": "x".repeat(5000), "a.number": 1.5, "a.switch": true, none: undefined });
      await traced(tracing, { name: "inner", kind: "client" }, async (inner) => {
        inner?.rename("inner, renamed");
        inner?.fail("tool_error");
      });
      throw new BridgeError("SESSION_BUSY", "secret words");
    });
    await expect(failed).rejects.toThrow("secret words");
    await tracing.close();
    const [inner, outer] = collector.spans;
    expect(outer).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      name: "outer",
      kind: "server",
      isError: true,
      links: [OTHER],
      attributes: {
        "a.text": "x".repeat(1024),
        "a.number": 1.5,
        "a.switch": true,
        "error.type": "SESSION_BUSY",
      },
      resource: { "service.name": "sandpy", "service.version": expect.any(String) },
    });
    expect(inner).toMatchObject({
      traceId: TRACE,
      parentSpanId: outer?.spanId,
      name: "inner, renamed",
      kind: "client",
      isError: true,
      attributes: { "error.type": "tool_error" },
    });
    expect(JSON.stringify(collector.spans)).not.toContain("secret");
    expect(log.lines).toEqual([]);
  });

  test("and what is asked of others within one names it", async () => {
    await using collector = startCollector();
    const { tracing } = open(`${collector.origin}/v1/traces`);
    const parent = parseTraceContext(`00-${TRACE}-${PARENT}-01`, "vendor=1");
    const told = await traced(
      tracing,
      { name: "s", kind: "internal", parent },
      async () => currentRun().trace,
    );
    expect(currentRun().trace).toBeUndefined();
    await tracing.close();
    const [span] = collector.spans;
    expect(told).toEqual({ traceparent: `00-${TRACE}-${span?.spanId}-01`, tracestate: "vendor=1" });
  });

  test.each([
    ["none, whatever who asks says", { isParentBased: false, ratio: 0 }, "01", 0],
    ["all, whatever who asks says", { isParentBased: false, ratio: 1 }, "00", 1],
    ["those that are wanted", { isParentBased: true, ratio: 0 }, "01", 1],
    ["not those that are not wanted", { isParentBased: true, ratio: 1 }, "00", 0],
  ])("by the sampler: %s", async (_what, sampler, flags, count) => {
    await using collector = startCollector();
    const { tracing } = open(`${collector.origin}/v1/traces`, { sampler });
    const parent = parseTraceContext(`00-${TRACE}-${PARENT}-${flags}`, undefined);
    tracing.start({ name: "s", kind: "internal", parent }).end();
    await tracing.close();
    expect(collector.spans).toHaveLength(count);
  });
});

describe("a collector that", () => {
  const tenThousand = (tracing: ReturnType<typeof open>["tracing"]) => {
    const startedAt = performance.now();
    for (let index = 0; index < 10_000; index += 1) tracing.start({ name: "s", kind: "internal" }).end();
    return performance.now() - startedAt;
  };

  test.each<[string, () => string | Collector]>([
    ["is not there", () => "http://127.0.0.1:1"],
    ["refuses", () => startCollector({ answer: () => new Response("secret", { status: 401 }) })],
    [
      "answers what nobody understands",
      () => startCollector({ answer: () => new Response("x".repeat(5_000_000)) }),
    ],
  ])("%s is told of once, and slows nothing", async (_what, start) => {
    const started = start();
    const { tracing, log } = open(`${typeof started === "string" ? started : started.origin}/v1/traces`);
    expect(tenThousand(tracing)).toBeLessThan(patient(3000));
    await until("the warning", () => log.lines.length > 0, 15_000);
    tenThousand(tracing);
    const closingAt = performance.now();
    await tracing.close();
    expect(performance.now() - closingAt).toBeLessThan(patient(1500));
    const told = log.lines.filter((line) => line.startsWith("WARNING"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("traces cannot be sent");
    expect(log.lines.join("")).not.toContain("secret");
    if (typeof started !== "string") await started[Symbol.asyncDispose]();
  });

  test("never answers keeps nobody from ending", async () => {
    await using silent = startCollector({ answer: () => new Promise<Response>(() => undefined) });
    const { tracing, log } = open(`${silent.origin}/v1/traces`);
    tenThousand(tracing);
    const closingAt = performance.now();
    await Promise.all([tracing.close(), tracing.close()]);
    expect(performance.now() - closingAt).toBeLessThan(patient(3000));
    expect(log.lines.filter((line) => !line.startsWith("DEBUG"))).toEqual([]);
  });
});

test("settings that cannot be used are said, and trace nothing", () => {
  const log = createMemoryLog();
  expect(createTracing({ url: undefined, faults: ["odd"], sampler: ALL }, { log })).toBeUndefined();
  expect(log.lines).toEqual(["WARNING sandpy: odd\n"]);
});
