import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Dockerd } from "../../test/e2e/helpers/dockerd.ts";
import { bridgeEnv, containersOf, engine, runEngine, until } from "../../test/e2e/helpers/engine.ts";
import { createHome, type TestHome } from "../../test/e2e/helpers/home.ts";
import { connectStdio } from "../../test/e2e/helpers/session-clients.ts";
import { patient } from "../../test/helpers/patient.ts";
import { createRandom, type Random } from "../fuzz-programs/random.ts";
import { monitorOf } from "./chaos.ts";
import { CODE, pickKind, SERVERS, startVictim } from "./victims.ts";

const AT_ONCE = 3;
const GONE_WITHIN_MS = 15_000;
/** From before the bridge has read a byte to when all of what it was asked for runs. */
const MAX_LIFE_MS = 4000;
/** For one of so many, what would end its container goes with it, so that only the next bridge can remove that. */
const HARD_EVERY = 10;

export interface OrphansOptions {
  readonly kills: number;
  readonly seed: number;
  /** The engine, where it is ours to restart. */
  readonly daemon: Dockerd | undefined;
}

/**
 * Kills bridges with SIGKILL at random moments of their work. Within 15 s, or once the next one has started where the engine was
 * away, there must be no container of theirs, no process that they started, and no file in their temporary folder; what they
 * kept must still be readable. Another bridge and a container of somebody else are there all the time, and must stay.
 */
export async function killBridges({ kills, seed, daemon }: OrphansOptions) {
  const faults: string[] = [];
  const random = createRandom(seed);
  const killed: Record<string, number> = {};
  let begun = 0;
  let slowestMs = 0;
  const hard = Math.ceil(kills / HARD_EVERY);
  const attempt = async (kind: string, kill: () => Promise<number>) => {
    try {
      slowestMs = Math.max(slowestMs, await kill());
    } catch (error) {
      faults.push(`${kind}: ${String(error)}`);
    }
    killed[kind] = (killed[kind] ?? 0) + 1;
  };
  const bystanders = await startBystanders();
  try {
    const serve = async () => {
      while (begun < kills - hard) {
        begun += 1;
        const kind = pickKind(random);
        await attempt(kind, () => killOne(random, kind));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, serve));
    for (let i = 0; i < hard; i += 1) await attempt("engine away", () => killWithEngine(random, daemon));
    faults.push(...(await bystanders.missing(daemon !== undefined && hard > 0)));
  } finally {
    await bystanders.close();
  }
  return { seed, kills: killed, slowestMs: Math.round(slowestMs), faults };
}

/** Returns after how many milliseconds all was gone. */
async function killOne(random: Random, kind: ReturnType<typeof pickKind>): Promise<number> {
  using home = prepareHome();
  const code = random.pick(CODE);
  const lifeMs = random.below(MAX_LIFE_MS);
  const bridge = await startVictim(kind, home, code);
  await Bun.sleep(lifeMs);
  bridge.kill("SIGKILL");
  const killedAt = performance.now();
  await bridge.exited;
  await untilGone(home, bridge.pid, `after ${lifeMs} ms of ${JSON.stringify(code)}`);
  checkKept(home.path);
  return performance.now() - killedAt;
}

/** The bridge goes with what holds its container's pipes: the daemon, or podman's monitor. The next bridge finds what is left. */
async function killWithEngine(random: Random, daemon: Dockerd | undefined): Promise<number> {
  using home = prepareHome();
  const bridge = await startVictim("stdio", home, random.pick(CODE));
  const started = async () => (await containersOf(bridge.pid)).length > 0;
  await until("it has a container", started, patient(GONE_WITHIN_MS));
  await Bun.sleep(random.below(MAX_LIFE_MS / 2));
  if (daemon === undefined) {
    const monitors = (await containersOf(bridge.pid)).map(monitorOf);
    for (const pid of monitors) if (pid !== undefined) process.kill(pid, "SIGKILL");
  } else await daemon.signal(random.pick(["SIGKILL", "SIGTERM"] as const));
  bridge.kill("SIGKILL");
  await bridge.exited;
  await daemon?.start();
  const killedAt = performance.now();
  using next = prepareHome();
  await using client = await connectStdio(bridgeEnv(next.path), next.path);
  await client.run("1");
  await untilGone(home, bridge.pid, `with ${engine}`);
  return performance.now() - killedAt;
}

function prepareHome(): TestHome {
  const home = createHome();
  home.defineServers(SERVERS);
  mkdirSync(join(home.path, "tmp"));
  return home;
}

async function untilGone(home: TestHome, pid: number, when: string): Promise<void> {
  let left = "";
  const isGone = async () => {
    const files = readdirSync(join(home.path, "tmp"), { recursive: true });
    left = JSON.stringify({ containers: await containersOf(pid), processes: processesOf(home.path), files });
    return left === '{"containers":[],"processes":[],"files":[]}';
  };
  await until("all is gone", isGone, patient(GONE_WITHIN_MS)).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${left}, ${when}`);
  });
}

/** Somebody else's container, and a bridge that goes on. */
async function startBystanders() {
  const name = `soak-bystander-${process.pid}`;
  const image = process.env["MCP_BRIDGE_IMAGE"] ?? "";
  await runEngine("create", "--name", name, "--label", "io.sandpy=no", image, "true");
  const home = createHome();
  const bridge = await connectStdio(bridgeEnv(home.path), home.path);
  await bridge.run("kept = 'kept'");
  return {
    /** What is not there any more. A daemon that was restarted ends the sandbox itself. */
    async missing(wasRestarted: boolean): Promise<string[]> {
      const names = (await runEngine("ps", "-a", "--format", "{{.Names}}")).split("\n");
      const { text } = await bridge.run("kept");
      return [
        ...(names.includes(name) ? [] : ["the container of somebody else is gone"]),
        ...(wasRestarted || text === "'kept'" ? [] : [`the bridge that went on lost its sandbox: ${text}`]),
      ];
    },
    async close(): Promise<void> {
      await bridge[Symbol.asyncDispose]();
      await runEngine("rm", "--force", name);
      home[Symbol.dispose]();
    },
  };
}

/** Processes with this home: the engine's clients and monitors, and upstream servers with all that they started. */
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
  let text: string;
  try {
    text = readFileSync(join(home, "MCPs/user_tools/memory/soak.json"), "utf8");
  } catch {
    return; // none was saved yet
  }
  JSON.parse(text);
}
