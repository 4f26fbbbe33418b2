import { parseArgs } from "node:util";
import { canStartDockerd, startDockerd } from "../../test/e2e/helpers/dockerd.ts";

/**
 * Runs one of the long tests and prints what came of it as JSON. With docker as root, on a daemon of its own that is restarted
 * during the load.
 *
 *     bun scripts/soak-programs/main.ts load [--minutes N] [--sessions N] [--seed N]
 *     bun scripts/soak-programs/main.ts orphans [--kills N] [--seed N]
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "5" },
      sessions: { type: "string", default: "10" },
      kills: { type: "string", default: "100" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
    },
  });
  const kind = positionals.join(" ");
  if (kind !== "load" && kind !== "orphans") return refuse(`no soak "${kind}"; there are: load, orphans`);
  const wrong = Object.entries(values).find(([, value]) => !(Number(value) > 0));
  if (wrong !== undefined) return refuse(`--${wrong[0]} is "${wrong[1]}": expected a number above 0`);
  const [minutes, sessions] = [Number(values.minutes), Number(values.sessions)];
  const [kills, seed] = [Number(values.kills), Number(values.seed)];
  await using daemon = await ownDaemon();
  // What they share reads the way to the engine from the environment when it is loaded.
  if (daemon !== undefined) process.env["DOCKER_HOST"] = daemon.host;
  const outcome =
    kind === "load"
      ? await (await import("./load.ts")).soakUnderLoad({ minutes, sessions, seed, daemon })
      : await (await import("./orphans.ts")).killBridges({ kills, seed, daemon });
  process.stdout.write(`${JSON.stringify(outcome, null, 1)}\n`);
  return outcome.faults.length === 0 ? 0 : 1;
}

function refuse(why: string): number {
  process.stderr.write(`error: ${why}\n`);
  return 2;
}

async function ownDaemon() {
  const image = process.env["MCP_BRIDGE_IMAGE"];
  const isDocker = process.env["SANDPY_TEST_ENGINE"] === "docker";
  return isDocker && canStartDockerd && image !== undefined ? startDockerd(image) : undefined;
}

process.exitCode = await main();
