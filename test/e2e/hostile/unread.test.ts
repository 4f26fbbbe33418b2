/** A client that sends calls and never reads the answers, on the built binary; over HTTP: test/mcp/http/unread.test.ts. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../helpers/until.ts";
import { SERVERS } from "../../upstream/harness.ts";
import { peakMib } from "../helpers/attack.ts";
import { BINARY, bridgeEnv } from "../helpers/engine.ts";
import { createHome } from "../helpers/home.ts";

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
