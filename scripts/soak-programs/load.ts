import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Dockerd } from "../../test/e2e/helpers/dockerd.ts";
import { bridgeEnv, containersOf, until } from "../../test/e2e/helpers/engine.ts";
import { createHome } from "../../test/e2e/helpers/home.ts";
import { startServed } from "../../test/e2e/helpers/served.ts";
import { connectHttp, connectStdio, type SessionClient } from "../../test/e2e/helpers/session-clients.ts";
import { serveSessions } from "../../test/helpers/http-servers.ts";
import { patient } from "../../test/helpers/patient.ts";
import { ECHO_SERVER } from "../benchmarks/world.ts";
import { createRandom } from "../fuzz-programs/random.ts";
import { makeChaos } from "./chaos.ts";
import { type Figures, readFigures } from "./figures.ts";
import { Ledger } from "./ledger.ts";
import { Tally } from "./tally.ts";
import { comeAndGo } from "./vanish.ts";
import { Worker } from "./worker.ts";

const TOKEN = "soak-0123456789abcdef";
const MAX_WARM_MS = 10_000;
const QUIET_MS = 90_000;
const MAX_LOG_LINES = 10;
const GONE_WITHIN_MS = 15_000;
/** One in so many sessions is of a client over stdio, with a bridge of its own on the same memories. */
const STDIO_EVERY = 5;
/** Sessions that were ended or lost may wait for their sandbox's end; the spare is one more. */
const MAX_GROWTH = { memoryMiB: 100, descriptors: 60, children: 12, files: 20 } as const;

export interface LoadOptions {
  readonly minutes: number;
  readonly sessions: number;
  readonly seed: number;
  /** After which a sandbox that nobody uses is given back; 20 by default. */
  readonly idleSeconds?: number;
  /** The engine, where it is ours to restart. */
  readonly daemon: Dockerd | undefined;
}

/** Mixed load on bridges over HTTP and stdio while all that they use is killed. Returns what came of it. */
export async function soakUnderLoad({ minutes, sessions, seed, idleSeconds = 20, daemon }: LoadOptions) {
  const tally = new Tally();
  // Each caller has memories of its own: who comes by token, and who starts a bridge here.
  const [byToken, byUser] = [new Ledger(), new Ledger()];
  using home = createHome();
  await using remote = serveSessions();
  home.defineServers({ bench: ECHO_SERVER, adder: { type: "http", url: remote.url } });
  const temporary = join(home.path, "tmp");
  mkdirSync(temporary);
  const env = {
    TMPDIR: temporary,
    MCP_BRIDGE_MEMORY: "128m",
    MCP_BRIDGE_TIMEOUT: "15",
    MCP_BRIDGE_MAX_SESSIONS: "500",
    MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: "500",
    MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: String(idleSeconds),
  };
  const served = await startServed(home, [], { ...env, MCP_BRIDGE_HTTP_TOKEN: TOKEN });
  const pid = served.child.pid;
  const pids = new Set([pid]);
  const overStdio = async () => {
    const client = await connectStdio(bridgeEnv(home.path, env), home.path);
    pids.add(client.pid);
    return client;
  };
  let start: Figures | undefined;
  let end: Figures | undefined;
  const faults: string[] = [];
  try {
    const over = performance.now() + minutes * 60_000;
    const isOver = () => performance.now() > over;
    const workers = Array.from({ length: sessions }, (_, i) => {
      const isStdio = i % STDIO_EVERY === STDIO_EVERY - 1;
      const connect = isStdio ? overStdio : () => connectHttp(served.url, TOKEN, i % 2 === 0 ? "v1" : "v2");
      const name = `${isStdio ? "stdio" : "http"}${i}`;
      return new Worker({
        name,
        connect,
        endsWithClient: isStdio,
        random: createRandom(seed + i),
        tally,
        ledger: isStdio ? byUser : byToken,
      });
    });
    const work = Promise.all(workers.map((worker) => worker.runUntil(isOver)));
    await Bun.sleep(Math.min(MAX_WARM_MS, (minutes * 60_000) / 3));
    start = await readFigures(pid, temporary);
    const chaos = makeChaos({ pid, random: createRandom(seed), tally, remote, daemon }, isOver);
    await Promise.all([work, chaos, comeAndGo(served.url, TOKEN, createRandom(seed - 1), tally, isOver)]);
    faults.push(...byToken.judge(await readTotal(await connectHttp(served.url, TOKEN, "v2"), byToken)));
    faults.push(...byUser.judge(await readTotal(await overStdio(), byUser)));
    // Idle sessions give their sandboxes back: what is left then is what leaks.
    await until("the idle sandboxes are gone", async () => (await containersOf(pid)).length <= 1, QUIET_MS);
    end = await readFigures(pid, temporary);
  } finally {
    await served[Symbol.asyncDispose]();
  }
  const leftOf = async () => (await Promise.all([...pids].map(containersOf))).flat();
  const isGone = async () => (await leftOf()).length === 0;
  // A bridge that had no time to remove a container leaves that to its supervisor's end, and what cannot end to the next bridge.
  const endsByItself = () =>
    until("all is gone", isGone, GONE_WITHIN_MS).then(
      () => true,
      () => false, // not by itself
    );
  const forTheNext = (await endsByItself()) ? [] : await leftOf();
  if (forTheNext.length > 0) await sweep(bridgeEnv(home.path, env), home.path, isGone);
  const left = await leftOf();
  const { done, kills, reasons } = tally;
  faults.push(...tally.wrong, ...leaks(start, end));
  if (left.length > 0) faults.push(`containers are left: ${left.join(", ")}`);
  const log = served
    .stderr()
    .split("\n")
    .filter((line) => /^ERROR /.test(line));
  return {
    seed,
    sessions,
    bridges: pids.size,
    done,
    kills,
    reasons,
    start,
    end,
    forTheNext,
    log: log.slice(-MAX_LOG_LINES),
    faults,
  };
}

/** Starts a bridge, which looks for what others left as each does, until it has removed that or had its time. */
async function sweep(env: Record<string, string>, cwd: string, isGone: () => Promise<boolean>) {
  await using client = await connectStdio(env, cwd);
  await client.run("1");
  await until("it is gone", isGone, patient(GONE_WITHIN_MS)).catch(() => undefined); // told by who asked
}

/** What the memory holds that all added to. */
async function readTotal(client: SessionClient, { key }: Ledger): Promise<number> {
  await using _ = client;
  const { text } = await client.run(`load_memory('${key}', default=0)`);
  return Number(text.split("\n")[0]);
}

function leaks(start: Figures, end: Figures): string[] {
  return (["memoryMiB", "descriptors", "children", "files"] as const)
    .filter((name) => end[name] - start[name] > MAX_GROWTH[name])
    .map((name) => `${name} grew from ${start[name]} to ${end[name]}`);
}
