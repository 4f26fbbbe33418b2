/** However much comes at once, the bridge has about 300 MB or less. What one output costs is in memory.test.ts. */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { createHttpServer } from "../helpers/large-results.ts";
import { patient } from "../helpers/patient.ts";
import { until } from "../helpers/until.ts";
import { peakMib } from "./helpers/attack.ts";
import { startBridge } from "./helpers/client.ts";
import { createHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";
import { connectHttp } from "./helpers/session-clients.ts";

const CEILING_MIB = 300e6 / 1024 ** 2;
const TOKEN = "ada-0123456789abcdef";
const BEN = "ben-0123456789abcdef";
const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "large", version: "1" },
};
const HEADERS = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": REVISION,
  "mcp-method": "tools/call",
  "mcp-name": "run_python",
};
const SERVER = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");
const MIB = 1024 ** 2;
const onLinux = test.if(process.platform === "linux"); // elsewhere nobody says how much another process has

/** A server over stdio with a tool that gives so many bytes. */
function large(bytes: number) {
  const script = JSON.stringify({ tools: { big: { bytes } } });
  return { command: process.execPath, args: [SERVER, script] };
}

const GATHER = (server: string, count: number) => `
import asyncio
texts = await asyncio.gather(*(mcp_${server}.big() for _ in range(${count})))
print(sum(len(r.text) for r in texts))`;

onLinux.each([
  ["30 results of 10 MB", "stdio", 30, 10e6],
  ["30 results of 10 MB", "http", 30, 10e6],
  ["30 results of 10 MB", "stream", 30, 10e6],
  ["200 results of 1 MB", "http", 200, 1e6],
] as const)(
  "EXH-14: %s at once all arrive, over %s, in less than 300 MB",
  async (_what, kind, count, bytes) => {
    await using http = createHttpServer(bytes);
    using home = createHome();
    home.defineServers({ fx: kind === "stdio" ? large(bytes) : { url: `${http.url}/${kind}` } });
    await using bridge = await startBridge({ home, env: { MCP_BRIDGE_MEMORY: "2g" } });
    await bridge.python("await mcp.runtime.list_tools('fx')");
    const { text } = await bridge.call({ code: GATHER("fx", count), timeout: 100 });
    expect(text).toContain(String(count * bytes));
    expect(peakMib(bridge.pid)).toBeLessThan(CEILING_MIB);
  },
  120_000,
);

onLinux(
  "EXH-14: sandboxes that ask for all they can and read nothing take less than 300 MB together, and others are served",
  async () => {
    using home = createHome();
    home.defineServers({ fx: large(10e6) });
    await using served = await startServed(home, [], { MCP_BRIDGE_HTTP_TOKEN: TOKEN });
    await using client = await connectHttp(served.url, TOKEN, "v1");
    // The event loop is held up: answers are taken and stay in the sandbox.
    const greedy = `
import asyncio, time
for _ in range(30): asyncio.ensure_future(mcp_fx.big())
await asyncio.sleep(0.2)
time.sleep(6)`;
    const attacks = Array.from({ length: 5 }, () => client.run(greedy, "new"));
    await Promise.all(attacks.map((attack) => attack.catch(() => undefined)));
    expect((await client.run("1 + 1", "new")).text).toContain("2");
    expect(peakMib(served.child.pid)).toBeLessThan(CEILING_MIB);
  },
  120_000,
);

onLinux(
  "EXH-14: sandboxes that send all they can at once take less than 300 MB together, and each call is made",
  async () => {
    using home = createHome();
    const script = JSON.stringify({ tools: { take: { result: '{"content":[]}', delayMs: 200 } } });
    home.defineServers({ fx: { command: process.execPath, args: [SERVER, script] } });
    const env = { MCP_BRIDGE_HTTP_TOKEN: TOKEN, MCP_BRIDGE_TIMEOUT: "100" };
    await using served = await startServed(home, [], env);
    await using client = await connectHttp(served.url, TOKEN, "v1");
    const code = 'await mcp_fx.take(text="x" * (24 * 1024 ** 2)); print("all", "taken")';
    const runs = await Promise.all(Array.from({ length: 3 }, () => client.run(code, "new")));
    expect(runs.map(({ text }) => text).filter((text) => !text.includes("all taken"))).toEqual([]);
    expect(peakMib(served.child.pid)).toBeLessThan(CEILING_MIB);
  },
  120_000,
);

onLinux(
  "CLI-15: a hundred bodies of 15 MB at once are all answered, in less than 300 MB",
  async () => {
    using home = createHome();
    await using served = await startServed(home, [], { MCP_BRIDGE_HTTP_TOKEN: TOKEN });
    const body = Buffer.alloc(15 * MIB, " ");
    body.write('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    const statuses = await Promise.all(Array.from({ length: 100 }, () => post(served.url, body)));
    expect(statuses.filter((status) => status !== "400" && status !== "503")).toEqual([]);
    expect(peakMib(served.child.pid)).toBeLessThan(CEILING_MIB);
  },
  120_000,
);

onLinux(
  "CLI-15: 36 programs of 4 MB at once are run or refused, in less than 300 MB, and another caller's small one meanwhile",
  async () => {
    using home = createHome();
    await using served = await startServed(home, [], { MCP_BRIDGE_HTTP_TOKEN: `ada:${TOKEN},ben:${BEN}` });
    await using ben = await connectHttp(served.url, BEN, "v1");
    const { session } = await ben.run("1 + 1");
    const program = `data = "${"3fe4bb4c".repeat(500_000)}"\nprint(len(data))`;
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { _meta: META, name: "run_python", arguments: { code: program } },
    });
    let over = 0;
    const answers = Array.from({ length: 36 }, async () => {
      const answer = await fetch(served.url, { method: "POST", headers: HEADERS, body });
      const text = await answer.text();
      over += 1;
      return answer.status === 503 ? "refused" : /4000000/.test(text) ? "run" : text;
    });
    await until("some were answered", () => over > 0, 30_000);
    const startedAt = performance.now();
    expect((await ben.run("2 + 2", session)).text).toContain("4");
    expect(performance.now() - startedAt).toBeLessThan(patient(5000));
    const outcomes = await Promise.all(answers);
    expect(outcomes.filter((outcome) => outcome !== "run" && outcome !== "refused")).toEqual([]);
    expect(outcomes).toContain("run");
    expect(peakMib(served.child.pid)).toBeLessThan(CEILING_MIB);
  },
  120_000,
);

/** Sends all of a body without reading the answer before, as a hostile client does; returns the status. */
function post(url: URL, body: Uint8Array): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let heard = "";
  const socket = connect(Number(url.port), url.hostname);
  socket.on("data", (data) => {
    heard += data.toString("latin1");
    socket.end();
  });
  socket.on("error", () => undefined).on("close", () => resolve(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? ""));
  const head = [
    `POST ${url.pathname} HTTP/1.1`,
    `Host: ${url.host}`,
    `Authorization: Bearer ${TOKEN}`,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(body);
  return promise;
}
