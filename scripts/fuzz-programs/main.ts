import { join } from "node:path";
import { parseArgs } from "node:util";
import { fuzzHost } from "./host.ts";

/**
 * Fuzzes both halves of the frame protocol and prints a line for each target.
 *
 *     bun scripts/fuzz-programs/main.ts [TARGET…] [--frames N] [--seed N] [--python PROGRAM]
 */

interface Outcome {
  readonly frames: number;
  readonly faults: readonly string[];
  readonly [name: string]: unknown;
}

const TARGETS = ["host", "readers", "supervisor"] as const;
type Target = (typeof TARGETS)[number];

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      frames: { type: "string", default: "1000000" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      python: { type: "string", default: "python3" },
    },
  });
  const unknown = positionals.find((name) => !(TARGETS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    process.stderr.write(`error: no target "${unknown}"; there are: ${TARGETS.join(", ")}\n`);
    return 2;
  }
  const frames = parseCount("--frames", values.frames);
  const seed = parseCount("--seed", values.seed);
  let faults = 0;
  for (const target of TARGETS) {
    if (positionals.length > 0 && !positionals.includes(target)) continue;
    const started = performance.now();
    const outcome = await fuzz(target, frames, seed, values.python);
    const seconds = Math.round((performance.now() - started) / 1000);
    faults += outcome.faults.length;
    process.stdout.write(`${target}, seed ${seed}, ${seconds} s: ${JSON.stringify(outcome)}\n`);
  }
  return faults === 0 ? 0 : 1;
}

function parseCount(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  process.stderr.write(`error: ${name} is "${text}": expected a whole number\n`);
  process.exit(2);
}

async function fuzz(target: Target, frames: number, seed: number, python: string): Promise<Outcome> {
  if (target === "host") return { ...(await fuzzHost(frames, seed)) };
  const program = join(import.meta.dir, "main.py");
  const child = Bun.spawn([python, program, target, String(frames), String(seed)], { stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) > 1 || text === "")
    return { frames: 0, faults: [`${target} ended without a word`] };
  return JSON.parse(text) as Outcome;
}

process.exitCode = await main();
