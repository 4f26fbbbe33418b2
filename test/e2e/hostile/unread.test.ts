/** Clients that send calls and never read the answers, on the built binary. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { until } from "../../helpers/until.ts";
import { SERVERS } from "../../upstream/harness.ts";
import { peakMib } from "../helpers/attack.ts";
import { BINARY, bridgeEnv } from "../helpers/engine.ts";
import { createHome } from "../helpers/home.ts";
import { type Served, startServed } from "../helpers/served.ts";
import { connectHttp } from "../helpers/session-clients.ts";

const ADA = "ada-0123456789abcdef";
const BOB = "bob-0123456789abcdef";
const CALLS = 4;
/** After results of 16 MiB that nobody reads no more runs begin: these are of 20 MB. */
const MOST_RUNS = 2;
const CEILING_MIB = 300e6 / 1024 ** 2;
const onLinux = test.if(process.platform === "linux"); // elsewhere nobody says how much another process has

/** Says to a server that it runs, then shows five images of 3 MB. */
const CODE = `
import os, struct
class Picture:
    def _repr_png_(self):
        head = bytes([137]) + b"PNG\\r\\n" + bytes([26, 10]) + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 9, 9)
        return head + os.urandom(2_940_000) + b"IEND"
await mcp_fx.get()
for _ in range(5): display(Picture())`;
const PARAMS = { name: "run_python", arguments: { code: CODE } };

function createWorld() {
  const home = createHome();
  const journal = join(home.path, "journal");
  const script = JSON.stringify({ journal, tools: { get: {} } });
  home.defineServers({
    fx: { command: process.execPath, args: [join(SERVERS, "scripted-server.ts"), script] },
  });
  const runs = () =>
    existsSync(journal) ? readFileSync(journal, "utf8").split('"tools/call"').length - 1 : 0;
  return { home, runs };
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** How often an image of ours is there. */
const countImages = (text: string) => text.split('"type":"image"').length - 1;

onLinux(
  "CLI-5: over stdio, runs wait whose results nobody would read, and none is lost when they are read",
  async () => {
    const { home, runs } = createWorld();
    using _ = home;
    const env = bridgeEnv(home.path);
    const bridge = spawn(BINARY, ["serve"], { env, cwd: home.path, stdio: ["pipe", "pipe", "ignore"] });
    const ended = new Promise((resolve) => bridge.once("exit", resolve));
    const send = (message: object) =>
      bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "t", version: "1" };
    send({
      id: "init",
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    });
    send({ method: "notifications/initialized" });
    for (let id = 0; id < CALLS; id++) send({ id, method: "tools/call", params: PARAMS });

    await until("a run", () => runs() >= 1, 30_000);
    await untilStill(runs);
    expect(runs()).toBeLessThanOrEqual(MOST_RUNS);
    let images = 0;
    let answers = 0;
    bridge.stdout.on("data", (data: Buffer) => {
      const text = data.toString("latin1");
      images += countImages(text);
      answers += text.split("\n").length - 1;
    });
    await until("all answers", () => answers === CALLS + 1, 60_000);
    expect(runs()).toBe(CALLS);
    expect(images).toBeGreaterThan(CALLS * 4); // one that is cut in two is not counted
    expect(peakMib(bridge.pid ?? 0)).toBeLessThan(CEILING_MIB);
    bridge.stdin.end();
    await ended;
  },
  90_000,
);

onLinux.each(["initialize", "2026-07-28"] as const)(
  "CLI-5: over HTTP (%s) too, and another caller is served meanwhile",
  async (era) => {
    const { home, runs } = createWorld();
    using _ = home;
    const tokens = home.write("tokens", `ada ${ADA}\nbob ${BOB}\n`);
    await Bun.$`chmod 600 ${tokens}`.quiet();
    await using served = await startServed(home, ["--token-file", tokens]);
    const { headers, more } = await (era === "initialize" ? beginSession : makeSandbox)(served);
    const sockets = Array.from({ length: CALLS }, (_each, id) =>
      post(served, headers, { jsonrpc: "2.0", id, method: "tools/call", params: more }),
    );

    await until("a run", () => runs() >= 1, 30_000);
    await using bob = await connectHttp(served.url, BOB, "v1");
    for (let n = 0; n < 3; n++) expect((await bob.run(`${n} + 1`)).text).toContain(String(n + 1));
    await untilStill(runs);
    expect(runs()).toBeLessThanOrEqual(MOST_RUNS);
    const texts = await Promise.all(sockets.map(readAnswer));
    expect(runs()).toBe(CALLS);
    expect(texts.map(countImages)).toEqual(Array(CALLS).fill(5));
    expect(texts.filter((text) => text.includes('"status":"success"'))).toHaveLength(CALLS);
    expect(peakMib(served.child.pid ?? 0)).toBeLessThan(CEILING_MIB);
  },
  90_000,
);

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
};
const POST = { "content-type": "application/json", accept: "application/json, text/event-stream" };

interface Begun {
  readonly headers: Readonly<Record<string, string>>;
  /** The parameters of a call in it. */
  readonly more: object;
}

async function beginSession({ url }: Served): Promise<Begun> {
  const headers = { ...POST, authorization: `Bearer ${ADA}` };
  const clientInfo = { name: "t", version: "1" };
  const init = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: "init", method: "initialize", params: init });
  const response = await fetch(url, { method: "POST", headers, body });
  await response.text();
  const id = response.headers.get("mcp-session-id") ?? "";
  return { headers: { ...headers, "mcp-session-id": id }, more: PARAMS };
}

async function makeSandbox({ url }: Served): Promise<Begun> {
  const headers = {
    ...POST,
    authorization: `Bearer ${ADA}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "run_python",
  };
  const params = { name: "run_python", arguments: { code: "1" }, _meta: META };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const text = await (await fetch(url, { method: "POST", headers, body })).text();
  const session = /"session":"(s_\w+)"/.exec(text)?.[1];
  return { headers, more: { name: "run_python", arguments: { code: CODE, session }, _meta: META } };
}

/** Sends a request on a connection of its own, and reads nothing of its answer. */
function post({ url }: Served, headers: Begun["headers"], message: object): Socket {
  const body = JSON.stringify(message);
  const all = { host: url.host, ...headers, "content-length": Buffer.byteLength(body) };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(url.port), url.hostname).pause();
  socket.on("error", () => undefined);
  socket.write(`POST ${url.pathname} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

/** The whole answer, which comes in chunks. */
async function readAnswer(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  socket.on("close", resolve).on("data", (data: Buffer) => {
    pieces.push(data);
    if (Buffer.concat(pieces.slice(-5)).subarray(-5).equals(LAST_CHUNK)) resolve();
  });
  socket.resume();
  await ended;
  socket.destroy();
  return Buffer.concat(pieces).toString("latin1");
}

/** Waits until a number has not changed for a second. */
async function untilStill(count: () => number): Promise<void> {
  let last = count();
  let since = performance.now();
  await until(
    "no more runs",
    () => {
      const now = count();
      if (now !== last) since = performance.now();
      last = now;
      return performance.now() - since > 1000;
    },
    60_000,
  );
}
