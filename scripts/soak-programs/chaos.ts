import { readdirSync, readFileSync } from "node:fs";
import type { Dockerd } from "../../test/e2e/helpers/dockerd.ts";
import { containersOf, engine, runEngine } from "../../test/e2e/helpers/engine.ts";
import type { Random } from "../fuzz-programs/random.ts";
import { childrenOf } from "./figures.ts";
import type { Tally } from "./tally.ts";

const MAX_PAUSE_MS = 1500;
const MAX_AWAY_MS = 3000;
const RESTART_EVERY = 20;

export interface ChaosOptions {
  /** Of the bridge. */
  readonly pid: number;
  readonly random: Random;
  readonly tally: Tally;
  /** A server over HTTP that can be away for a while. */
  readonly remote: { stop(): Promise<void>; start(): void; forget(): void };
  /** The engine, where it is ours to restart. */
  readonly daemon: Dockerd | undefined;
}

/** Kills what a bridge uses, one thing every second or so; the engine is restarted once in twenty times where it can be. */
export async function makeChaos(options: ChaosOptions, isOver: () => boolean): Promise<void> {
  const { random, daemon } = options;
  const acts = [
    () => killContainer(options),
    () => killContainer(options),
    () => killServer(options),
    () => restartRemote(options),
    () => killClient(options),
    ...(engine === "podman" ? [() => killMonitor(options)] : []),
  ];
  for (let turn = 1; !isOver(); turn += 1) {
    await Bun.sleep(random.below(MAX_PAUSE_MS));
    if (daemon !== undefined && turn % RESTART_EVERY === 0) await restartEngine(daemon, options);
    else await random.pick(acts)();
  }
}

async function killContainer({ pid, random, tally }: ChaosOptions): Promise<void> {
  const names = await containersOf(pid);
  if (names.length === 0) return;
  await runEngine("kill", random.pick(names)).then(
    () => tally.killed("sandbox"),
    () => undefined, // its end came first
  );
}

async function killServer({ pid, random, tally }: ChaosOptions): Promise<void> {
  const servers = childrenOf(pid).filter(({ command }) => command.includes("echo-server"));
  if (servers.length > 0) kill(random.pick(servers).pid, "upstream server", tally);
}

/** The process that holds a sandbox's pipes for the bridge. */
async function killClient({ pid, random, tally }: ChaosOptions): Promise<void> {
  const clients = childrenOf(pid).filter(({ command }) => command.includes(" --name sandpy-"));
  if (clients.length > 0) kill(random.pick(clients).pid, "engine's client", tally);
}

/** Podman's monitor of a container, which is nobody's child. */
async function killMonitor({ pid, random, tally }: ChaosOptions): Promise<void> {
  const names = await containersOf(pid);
  if (names.length === 0) return;
  const monitor = monitorOf(random.pick(names));
  if (monitor !== undefined) kill(monitor, "conmon", tally);
}

/** The process id of podman's monitor of the container with this name. */
export function monitorOf(name: string): number | undefined {
  const found = readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .find((entry) => {
      const words = wordsOf(entry);
      return words[0]?.endsWith("conmon") === true && words.includes(name);
    });
  return found === undefined ? undefined : Number(found);
}

async function restartRemote({ remote, random, tally }: ChaosOptions): Promise<void> {
  await remote.stop();
  await Bun.sleep(random.below(MAX_AWAY_MS));
  if (random.once(2)) remote.forget();
  remote.start();
  tally.killed("remote server");
}

async function restartEngine(daemon: Dockerd, { random, tally }: ChaosOptions): Promise<void> {
  const signal = random.pick(["SIGKILL", "SIGTERM"] as const);
  await daemon.signal(signal);
  await Bun.sleep(random.below(MAX_AWAY_MS));
  await daemon.start();
  tally.killed(`engine by ${signal}`);
}

function kill(pid: number, what: string, tally: Tally): void {
  try {
    process.kill(pid, "SIGKILL");
    tally.killed(what);
  } catch {
    // its end came first
  }
}

function wordsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // it ended meanwhile
  }
}
