import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

/** Each with the scenarios that it has; the suite's servers then speak that revision. */
const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const RUN_MS = 180_000;

/** Scenarios that are not for us, by the beginning of their names, and why. */
const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  "auth/client-credentials": "an extension for programs without a user; ours signs a person in",
  "auth/enterprise-managed-authorization": "an extension for an identity provider of a company",
  "auth/dpop": "an extension; tokens are bearer tokens",
  "auth/wif-jwt-bearer": "an extension for workloads that bring an identity of their platform",
  "sep-2640-client": "an extension for skills, which are not read",
};
/** Scenarios whose warnings are meant to stay, and why. */
const ACCEPTED: Readonly<Record<string, string>> = {
  "auth/basic-cimd":
    "a client id that is a URL needs a document on the web, which Sandpy has none of; it registers instead",
};

interface Outcome {
  readonly revision: string;
  readonly scenario: string;
  readonly passed: number;
  readonly failed: number;
  readonly note: string;
  readonly isFine: boolean;
}

const root = resolve(import.meta.dir, "..");
const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const driver = join(root, "scripts/conformance-programs/client.ts");

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { report: { type: "string" } },
  });
  if (positionals.join(" ") !== "client")
    throw new Error("usage: scripts/conformance client [--report FILE]");
  const folder = mkdtempSync(join(tmpdir(), "sandpy-conformance-"));
  const outcomes: Outcome[] = [];
  try {
    for (const revision of REVISIONS) outcomes.push(...(await runRevision(revision, join(folder, revision))));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const known = await listScenarios();
  const ran = new Set(outcomes.map(({ scenario }) => scenario));
  const left = known.filter((scenario) => !ran.has(scenario));
  const unexplained = left.filter((scenario) => reasonOf(scenario) === undefined);
  print(outcomes, left, unexplained);
  const passed = outcomes.filter(({ isFine }) => isFine).length;
  const failed = outcomes.length - passed + unexplained.length;
  const skipped = left.length - unexplained.length;
  if (values.report !== undefined) writeFileSync(values.report, JSON.stringify({ passed, failed, skipped }));
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

async function runRevision(revision: string, folder: string): Promise<Outcome[]> {
  const command = `${process.execPath} ${driver}`;
  const text = await runSuite(
    "client",
    "--command",
    command,
    "--suite",
    "all",
    "--spec-version",
    revision,
    "-o",
    folder,
  );
  const outcomes = [...text.matchAll(/^(✓|✗) (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings)?$/gm)].map(
    ([, mark, scenario = "", passed, failed, warnings]) => {
      const accepted = ACCEPTED[scenario];
      const isFine = mark === "✓" || (accepted !== undefined && Number(failed) === 0);
      const note = isFine && mark === "✓" ? "" : (accepted ?? `${warnings ?? 0} warnings; see above`);
      return { revision, scenario, passed: Number(passed), failed: Number(failed), note, isFine };
    },
  );
  if (outcomes.length === 0) process.stderr.write(text);
  for (const { scenario, isFine } of outcomes) if (!isFine) explain(scenario, folder);
  return outcomes;
}

async function listScenarios(): Promise<readonly string[]> {
  const text = await runSuite("list");
  const part = /^Client scenarios.*\n((?: {2}- .*\n)+)/m.exec(text)?.[1] ?? "";
  return [...part.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
}

async function runSuite(...args: readonly string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, suite, ...args], {
    stdout: "pipe",
    stderr: "pipe",
    timeout: RUN_MS,
    env: { ...process.env, NO_COLOR: "1" },
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  return `${stdout}${stderr}`;
}

/** The checks that failed, and what our client said. */
function explain(scenario: string, folder: string): void {
  const parent = join(folder, scenario, "..");
  const name = scenario.split("/").at(-1) ?? "";
  for (const entry of readdirSync(parent).filter((each) => each.startsWith(`${name}-2`))) {
    const checks = JSON.parse(readFileSync(join(parent, entry, "checks.json"), "utf8")) as Record<
      string,
      unknown
    >[];
    for (const check of checks) {
      if (check["status"] !== "FAILURE" && check["status"] !== "WARNING") continue;
      process.stdout.write(
        `${scenario}: ${check["status"]}: ${check["description"]}: ${check["errorMessage"] ?? ""}\n`,
      );
    }
    process.stdout.write(readFileSync(join(parent, entry, "stderr.txt"), "utf8"));
  }
}

function reasonOf(scenario: string): string | undefined {
  return Object.entries(NOT_APPLICABLE).find(([start]) => scenario.startsWith(start))?.[1];
}

function print(outcomes: readonly Outcome[], left: readonly string[], unexplained: readonly string[]): void {
  const width = Math.max(
    ...[...outcomes.map(({ scenario }) => scenario), ...left].map(({ length }) => length),
  );
  const lines = outcomes.map(({ revision, scenario, passed, failed, note, isFine }) =>
    `${isFine ? "ok    " : "FAILED"}  ${revision}  ${scenario.padEnd(width)}  ${passed}/${passed + failed}  ${note}`.trimEnd(),
  );
  const rest = left.map((scenario) =>
    unexplained.includes(scenario)
      ? `FAILED  did not run  ${scenario}`
      : `-       not for us  ${scenario.padEnd(width)}       ${reasonOf(scenario)}`,
  );
  process.stdout.write(`${[...lines, ...rest].join("\n")}\n`);
}

await main();
