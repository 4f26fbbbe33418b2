import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";
import { type CollectedSpan, type Collector, startCollector } from "../helpers/otlp-collector.ts";
import { createJournal } from "../upstream/harness.ts";
import { startBridge } from "./helpers/client.ts";
import { BINARY, bridgeEnv, until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";

const SERVER = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const OF_HTTP = "00f067aa0ba902b7";
const CODE = "print(await mcp_fx.get(secret='hush'))";

let home: TestHome;
let journal: ReturnType<typeof createJournal>;
beforeAll(() => {
  home = createHome();
  journal = createJournal();
  const fail = { result: '{"content":[{"type":"text","text":"no"}],"isError":true}' };
  const script = { tools: { get: {}, fail }, journal: journal.path };
  home.defineServers({ fx: { command: process.execPath, args: [SERVER, JSON.stringify(script)] } });
});
afterAll(() => {
  journal[Symbol.dispose]();
  home[Symbol.dispose]();
});

function sentTo({ origin }: Collector): Readonly<Record<string, string>> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: origin,
    OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=the-key-of-the-collector",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    MCP_BRIDGE_LOG_LEVEL: "DEBUG",
  };
}

/** The spans of one call, the request's first; all that came must be of it. */
function chainOf(spans: readonly CollectedSpan[]): readonly CollectedSpan[] {
  const [request] = spans.filter(({ kind }) => kind === "server");
  const [execution] = spans.filter(({ name }) => name === "execute python");
  const [call] = spans.filter(({ kind }) => kind === "client");
  if (request === undefined || execution === undefined || call === undefined) {
    throw new Error(`a span is missing: ${JSON.stringify(spans)}`);
  }
  expect(execution.parentSpanId).toBe(request.spanId);
  expect(call.parentSpanId).toBe(execution.spanId);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  return [request, execution, call];
}

/** The `_meta` with which the server was called last. */
function lastMeta(): Readonly<Record<string, unknown>> {
  const frames = journal
    .lines()
    .filter((line) => line.includes('"tools/call"'))
    .map((line) => JSON.parse(line) as { params: { _meta?: Record<string, unknown> } });
  return frames.at(-1)?.params._meta ?? {};
}

test.each(["2025-11-25", "2026-07-28"] as const)(
  "over stdio, to a client of %s, a call is request, execution and call of a server in one trace",
  async (protocol) => {
    await using collector = startCollector();
    const bridge = await startBridge({ home, protocol, env: sentTo(collector) });
    expect((await bridge.python(CODE)).isError).toBe(false);
    await bridge[Symbol.asyncDispose]();
    await until("the spans", () => collector.spans.length >= 3);
    const [request, execution, call] = chainOf(collector.spans);
    expect(request).toMatchObject({
      name: "tools/call run_python",
      isError: false,
      parentSpanId: undefined,
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "run_python",
        "mcp.protocol.version": protocol,
        "network.transport": "pipe",
        "jsonrpc.request.id": expect.any(String),
        "sandpy.request.id": expect.stringMatching(/^[0-9a-f]{12}$/),
      },
      resource: { "service.name": "sandpy", "deployment.environment.name": "test" },
    });
    expect(execution).toMatchObject({
      kind: "internal",
      isError: false,
      attributes: { "sandpy.execution.outcome": "ok", "user.id": "local" },
    });
    expect(call).toMatchObject({
      name: "tools/call get",
      isError: false,
      attributes: {
        "service.peer.name": "fx",
        "sandpy.execution.id": execution?.attributes["sandpy.execution.id"],
        "sandpy.session.id": execution?.attributes["sandpy.session.id"],
      },
    });
    expect(lastMeta()["traceparent"]).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
    expect(collector.requests[0]?.get("x-api-key")).toBe("the-key-of-the-collector");
    expect(JSON.stringify(collector.spans)).not.toContain("hush");
  },
  60_000,
);

describe("over HTTP", () => {
  let collector: Collector;
  beforeAll(() => {
    collector = startCollector();
  });
  afterAll(() => collector[Symbol.asyncDispose]());

  /** Calls once, with what a client says of its trace, and gives the spans once the server has ended. */
  async function callWith(
    code: string,
    headers: Readonly<Record<string, string>>,
    meta: Readonly<Record<string, string>> = {},
  ) {
    collector.spans.length = 0;
    const served = await startServed(home, [], { ...sentTo(collector), OTEL_SERVICE_NAME: "team-sandpy" });
    const answer = await fetch(served.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "run_python",
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "call-1",
        method: "tools/call",
        params: {
          name: "run_python",
          arguments: { code },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
            ...meta,
          },
        },
      }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    await served[Symbol.asyncDispose]();
    expect(served.stderr()).not.toContain("the-key-of-the-collector");
    return { spans: collector.spans, log: served.stderr() };
  }

  test("goes on with the trace of the headers, which is passed on to the server and is in the log", async () => {
    const headers = { traceparent: `00-${TRACE}-${OF_HTTP}-01`, tracestate: "vendor=1" };
    const { spans, log } = await callWith(CODE, headers);
    const [request, , call] = chainOf(spans);
    expect(request).toMatchObject({
      traceId: TRACE,
      parentSpanId: OF_HTTP,
      resource: { "service.name": "team-sandpy" },
      attributes: { "network.protocol.name": "http", "jsonrpc.request.id": "call-1" },
    });
    expect(lastMeta()).toMatchObject({
      traceparent: `00-${TRACE}-${call?.spanId}-01`,
      tracestate: "vendor=1",
    });
    expect(log).toMatch(new RegExp(`an execution ended .*trace=${TRACE}`));
  });

  test("goes on with the trace of _meta before that of the headers, which is linked", async () => {
    const headers = { traceparent: `00-${"a".repeat(32)}-${OF_HTTP}-01` };
    const { spans } = await callWith(CODE, headers, { traceparent: `00-${TRACE}-${PARENT}-01` });
    const [request] = chainOf(spans);
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, links: [OF_HTTP] });
  });

  test("begins a trace of its own where what the client says is none, and says what failed", async () => {
    const { spans } = await callWith("mcp_fx_result = await mcp_fx.fail()", { traceparent: "'; drop" });
    const [request, execution, call] = chainOf(spans);
    expect(request?.parentSpanId).toBeUndefined();
    expect(call).toMatchObject({
      name: "tools/call fail",
      isError: true,
      attributes: { "error.type": "tool_error" },
    });
    expect(execution).toMatchObject({ isError: true, attributes: { "error.type": "error" } });
    expect(request).toMatchObject({ isError: true, attributes: { "error.type": "tool_error" } });
  });

  test("sends nothing of a trace that is not wanted, and says so further", async () => {
    const { spans } = await callWith(CODE, { traceparent: `00-${TRACE}-${OF_HTTP}-00` });
    expect(spans).toEqual([]);
    expect(lastMeta()["traceparent"]).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });
});

test("a call of the command line is traced too", async () => {
  await using collector = startCollector();
  const { code } = await runChild({
    command: BINARY,
    args: ["call", "fx", "get", "secret=hush"],
    env: bridgeEnv(home.path, sentTo(collector)),
    cwd: home.path,
    timeoutMs: 60_000,
  });
  expect(code).toBe(0);
  expect(collector.spans).toMatchObject([
    { name: "tools/call get", kind: "client", parentSpanId: undefined },
  ]);
  expect(lastMeta()["traceparent"]).toContain(String(collector.spans[0]?.spanId));
});

test("a program of the command line is traced too, and what has no collector says nothing of traces", async () => {
  await using collector = startCollector();
  const file = home.write("program.py", CODE);
  for (const env of [sentTo(collector), {}]) {
    const { code } = await runChild({
      command: BINARY,
      args: ["run", "--servers", "fx", file],
      env: bridgeEnv(home.path, env),
      cwd: home.path,
      timeoutMs: 60_000,
    });
    expect(code).toBe(0);
  }
  const [root] = collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined);
  // The whole of it, so that a span too many is named where it fails.
  const told = collector.spans.map(({ name, traceId, parentSpanId }) => ({ name, traceId, parentSpanId }));
  const traceId = root?.traceId ?? "none";
  expect(told).toEqual([
    { name: "tools/call get", traceId, parentSpanId: root?.spanId },
    { name: "execute python", traceId, parentSpanId: undefined },
  ]);
  expect(lastMeta()).not.toHaveProperty("traceparent");
});

test("a collector that is not there slows no call, and is told of once", async () => {
  const served = await startServed(home, [], {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
  });
  const client = await served.connect("none");
  try {
    for (let run = 0; run < 3; run += 1) expect(await client.python("1 + 1")).toBe("success");
    await until("the warning", () => served.stderr().includes("traces cannot be sent"), 15_000);
    expect(await client.python("1 + 1")).toBe("success");
  } finally {
    await client[Symbol.asyncDispose]();
    await served[Symbol.asyncDispose]();
  }
  expect(served.stderr().split("traces cannot be sent")).toHaveLength(2);
});
