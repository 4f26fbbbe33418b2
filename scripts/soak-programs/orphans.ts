import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startChild } from "../../src/core/child.ts";
import type { Dockerd } from "../../test/e2e/helpers/dockerd.ts";
import { BINARY, bridgeEnv, containersOf, until } from "../../test/e2e/helpers/engine.ts";
import { createHome } from "../../test/e2e/helpers/home.ts";
import { ECHO_SERVER } from "../benchmarks/world.ts";
import { createRandom, type Random } from "../fuzz-programs/random.ts";

const AT_ONCE = 3;
const GONE_WITHIN_MS = 15_000;
/** From before the bridge has read a byte to when all of what it was asked for runs. */
const MAX_LIFE_MS = 4000;

/** What bridges are doing when they are killed. */
const CODE = [
  "1 + 1",
  "while True: pass",
  "import subprocess, time\nsubprocess.Popen(['python3', '-c', 'import time; time.sleep(600)'])\ntime.sleep(600)",
  "while True: await mcp_bench.echo(text='x' * 1000)",
  "i = 0\nwhile True:\n    i += 1\n    save_memory('soak', i)\n    open(f'/projects/{i % 20}', 'w').write('x' * i)",
  "while True: print('x' * 100_000)",
  "hoard = []\nwhile True: hoard.append(bytearray(10_000_000))",
];

export interface OrphansOptions {
  readonly kills: number;
  readonly seed: number;
  /** The engine, where it is ours to restart. */
  readonly daemon: Dockerd | undefined;
}

/**
 * Kills bridges over stdio with SIGKILL at random moments of their work. Within 15 s there must be no container of theirs, no
 * process that they started, and no file in their temporary folder; what they kept must still be readable.
 */
export async function killBridges({ kills, seed }: OrphansOptions) {
  const faults: string[] = [];
  const random = createRandom(seed);
  let done = 0;
  let slowestMs = 0;
  const serve = async () => {
    while (done < kills) {
      done += 1;
      try {
        slowestMs = Math.max(slowestMs, await killOne(random));
      } catch (error) {
        faults.push(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  return { seed, kills: done, slowestMs: Math.round(slowestMs), faults };
}

/** Returns after how many milliseconds all was gone. */
async function killOne(random: Random): Promise<number> {
  using home = createHome();
  home.defineServers({ bench: ECHO_SERVER });
  const temporary = join(home.path, "tmp");
  mkdirSync(temporary);
  const env = { ...bridgeEnv(home.path), TMPDIR: temporary, MCP_BRIDGE_MEMORY: "128m" };
  const bridge = await startChild({ command: BINARY, args: [], env, cwd: home.path });
  const drained = drain(bridge.stdout);
  const code = random.pick(CODE);
  const lifeMs = random.below(MAX_LIFE_MS);
  await bridge.write(INITIALIZE + renderRun(code)).catch(() => undefined);
  await Bun.sleep(lifeMs);
  bridge.kill("SIGKILL");
  const killedAt = performance.now();
  await bridge.exited;
  await drained;
  let left = "";
  await until(
    "all is gone",
    async () => {
      const containers = await containersOf(bridge.pid);
      const files = readdirSync(temporary, { recursive: true });
      left = JSON.stringify({ containers, processes: processesOf(home.path), files });
      return left === '{"containers":[],"processes":[],"files":[]}';
    },
    GONE_WITHIN_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${left}, after ${lifeMs} ms of ${JSON.stringify(code)}`);
  });
  checkKept(home.path);
  return performance.now() - killedAt;
}

/** Processes with this home: the engine's clients and monitors, and upstream servers. */
function processesOf(home: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`);
    } catch {
      return false; // it ended meanwhile
    }
  });
}

/** A memory is a whole file of JSON, whenever its writer was killed. */
function checkKept(home: string): void {
  const file = join(home, "MCPs/user_tools/memory/soak.json");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return; // none was saved yet
  }
  JSON.parse(text);
}

async function drain(stdout: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stdout);
}

const INITIALIZE = render(1, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "soak", version: "1" },
});

function renderRun(code: string): string {
  return render(2, "tools/call", { name: "run_python", arguments: { code } });
}

function render(id: number, method: string, params: object): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}
