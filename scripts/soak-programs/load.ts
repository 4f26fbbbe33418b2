import { containersOf, until } from "../../test/e2e/helpers/engine.ts";
import { createHome } from "../../test/e2e/helpers/home.ts";
import { startServed } from "../../test/e2e/helpers/served.ts";
import { ECHO_SERVER } from "../benchmarks/world.ts";
import { createRandom } from "../fuzz-programs/random.ts";
import { makeChaos } from "./chaos.ts";
import { type Figures, readFigures } from "./figures.ts";
import { Tally } from "./tally.ts";
import { Worker } from "./worker.ts";

const TOKEN = "soak-0123456789abcdef";
const WARM_MS = 10_000;
const QUIET_MS = 60_000;
/** Sessions that were ended or lost may wait for their sandbox's end; the spare is one more. */
const MAX_GROWTH = { memoryMiB: 100, descriptors: 60, children: 12 } as const;

export interface LoadOptions {
  readonly minutes: number;
  readonly sessions: number;
  readonly seed: number;
}

/** Mixed load on one server while its sandboxes and upstream servers are killed. Returns what came of it. */
export async function soakUnderLoad({ minutes, sessions, seed }: LoadOptions) {
  const tally = new Tally();
  using home = createHome();
  home.defineServers({ bench: ECHO_SERVER });
  const served = await startServed(home, [], {
    MCP_BRIDGE_HTTP_TOKEN: TOKEN,
    MCP_BRIDGE_MEMORY: "128m",
    MCP_BRIDGE_TIMEOUT: "15",
    MCP_BRIDGE_MAX_SESSIONS: "500",
    MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: "500",
    MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: "20",
  });
  const pid = served.child.pid;
  let start: Figures | undefined;
  let end: Figures | undefined;
  try {
    const over = performance.now() + minutes * 60_000;
    const isOver = () => performance.now() > over;
    const workers = Array.from({ length: sessions }, (_, i) => {
      const random = createRandom(seed + i);
      const line = i % 2 === 0 ? "v1" : "v2";
      return new Worker({ url: served.url, token: TOKEN, name: `w${i}`, line, random, tally });
    });
    const work = Promise.all(workers.map((worker) => worker.runUntil(isOver)));
    await Bun.sleep(WARM_MS);
    start = await readFigures(pid);
    await Promise.all([work, makeChaos(pid, createRandom(seed), tally, isOver)]);
    // Idle sessions give their sandboxes back: what is left then is what leaks.
    await until("the idle sandboxes are gone", async () => (await containersOf(pid)).length <= 1, QUIET_MS);
    end = await readFigures(pid);
  } finally {
    await served[Symbol.asyncDispose]();
  }
  const left = (await containersOf(pid)).length;
  const faults = [
    ...tally.wrong,
    ...leaks(start, end),
    ...(left === 0 ? [] : [`${left} containers are left`]),
  ];
  const { done, kills, said } = tally;
  return { seed, sessions, done, kills, said, start, end, faults };
}

function leaks(start: Figures, end: Figures): string[] {
  return (["memoryMiB", "descriptors", "children"] as const)
    .filter((name) => end[name] - start[name] > MAX_GROWTH[name])
    .map((name) => `${name} grew from ${start[name]} to ${end[name]}`);
}
