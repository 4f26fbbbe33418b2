import { containersOf, runEngine } from "../../test/e2e/helpers/engine.ts";
import type { Random } from "../fuzz-programs/random.ts";
import { childrenOf } from "./figures.ts";
import type { Tally } from "./tally.ts";

const MAX_PAUSE_MS = 1500;

/** Kills sandboxes and upstream servers of a bridge, one every second or so. */
export async function makeChaos(
  pid: number,
  random: Random,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await Bun.sleep(random.below(MAX_PAUSE_MS));
    if (random.once(3)) killServer(pid, random, tally);
    else await killContainer(pid, random, tally);
  }
}

async function killContainer(pid: number, random: Random, tally: Tally): Promise<void> {
  const names = await containersOf(pid);
  if (names.length === 0) return;
  await runEngine("kill", random.pick(names)).then(
    () => tally.killed("sandbox"),
    () => undefined, // its end came first
  );
}

function killServer(pid: number, random: Random, tally: Tally): void {
  const servers = childrenOf(pid).filter(({ command }) => command.includes("echo-server"));
  if (servers.length === 0) return;
  try {
    process.kill(random.pick(servers).pid, "SIGKILL");
    tally.killed("upstream server");
  } catch {
    // its end came first
  }
}
