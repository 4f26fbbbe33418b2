import { parseArgs } from "node:util";
import { soakUnderLoad } from "./load.ts";
import { killBridges } from "./orphans.ts";

/**
 * Runs one of the long tests and prints what came of it as JSON.
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
  const [minutes, sessions, kills, seed] = [values.minutes, values.sessions, values.kills, values.seed].map(
    Number,
  );
  const kind = positionals.join(" ");
  if (kind !== "load" && kind !== "orphans") throw new Error(`no soak "${kind}"; there are: load, orphans`);
  if ([minutes, sessions, kills, seed].some((number) => !((number ?? Number.NaN) > 0))) {
    throw new Error("expected numbers above 0 after --minutes, --sessions, --kills and --seed");
  }
  const outcome =
    kind === "load"
      ? await soakUnderLoad({ minutes: minutes ?? 0, sessions: sessions ?? 0, seed: seed ?? 0 })
      : await killBridges({ kills: kills ?? 0, seed: seed ?? 0 });
  process.stdout.write(`${JSON.stringify(outcome, null, 1)}\n`);
  return outcome.faults.length === 0 ? 0 : 1;
}

process.exitCode = await main();
