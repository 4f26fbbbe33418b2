import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { NOT_OUR_CHECKS, NOT_OUR_SERVER, startServer } from "./conformance-programs/server.ts";

/** Each with the scenarios that it has; the suite's servers then speak that revision. */
const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const RUN_MS = 180_000;

/** Scenarios that are not for us, by the beginning of their names, and why. */
const NOT_OUR_CLIENT: Readonly<Record<string, string>> = {
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

const SIDES = ["client", "server"] as const;
type Side = (typeof SIDES)[number];

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
  const side = SIDES.find((each) => each === positionals.join(" "));
  if (side === undefined) throw new Error("usage: scripts/conformance client|server [--report FILE]");
  const folder = mkdtempSync(join(tmpdir(), "sandpy-conformance-"));
  const outcomes: Outcome[] = [];
  try {
    await using server = side === "server" ? await startServer(root, folder) : undefined;
    const target =
      server === undefined ? ["--command", `${process.execPath} ${driver}`] : ["--url", server.url];
    for (const revision of REVISIONS) {
      outcomes.push(...(await runRevision(side, target, revision, join(folder, revision))));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const known = await listScenarios(side);
  const ran = new Set(outcomes.map(({ scenario }) => scenario));
  const left = known.filter((scenario) => !ran.has(scenario));
  const unexplained = left.filter((scenario) => reasonOf(side, scenario) === undefined);
  print(side, outcomes, left, unexplained);
  const passed = outcomes.filter(({ isFine }) => isFine).length;
  const failed = outcomes.length - passed + unexplained.length;
  const skipped = left.length - unexplained.length;
  if (values.report !== undefined) writeFileSync(values.report, JSON.stringify({ passed, failed, skipped }));
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

async function runRevision(
  side: Side,
  target: readonly string[],
  revision: string,
  folder: string,
): Promise<Outcome[]> {
  const text = await runSuite(side, ...target, "--suite", "all", "--spec-version", revision, "-o", folder);
  const outcomes = [
    ...text.matchAll(/^(✓|✗) (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings)?$/gm),
  ].flatMap(([, mark, scenario = "", passed, failed, warnings]) => {
    if (side === "server" && reasonOf(side, scenario) !== undefined) return [];
    const left = side === "server" ? notOurs(scenario, folder) : undefined;
    const accepted = left ?? (Number(failed) === 0 ? ACCEPTED[scenario] : undefined);
    const isFine = mark === "✓" || accepted !== undefined;
    const note = mark === "✓" ? "" : (accepted ?? `${warnings ?? 0} warnings; see above`);
    return [{ revision, scenario, passed: Number(passed), failed: Number(failed), note, isFine }];
  });
  if (outcomes.length === 0) process.stderr.write(text);
  for (const { scenario, isFine } of outcomes) if (!isFine) explain(scenario, folder);
  return outcomes;
}

/** Why the checks of a scenario that failed cannot be made of our server; `undefined` where one of them can. */
function notOurs(scenario: string, folder: string): string | undefined {
  const reasons = faultsOf(scenario, folder).map(({ id }) => NOT_OUR_CHECKS[String(id)]);
  return reasons.every((reason) => reason !== undefined) ? [...new Set(reasons)].join("; ") : undefined;
}

async function listScenarios(side: Side): Promise<readonly string[]> {
  const text = await runSuite("list", `--${side}`);
  return [...text.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
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

/** The folders of what came of a scenario. */
function resultsOf(scenario: string, folder: string): readonly string[] {
  const parent = join(folder, scenario, "..");
  const name = scenario.split("/").at(-1) ?? "";
  return readdirSync(parent)
    .filter((each) => each.startsWith(`${name}-2`) || each.startsWith(`server-${name}-2`))
    .map((each) => join(parent, each));
}

/** The checks of a scenario that failed or warned. */
function faultsOf(scenario: string, folder: string): readonly Record<string, unknown>[] {
  return resultsOf(scenario, folder)
    .flatMap(
      (result) => JSON.parse(readFileSync(join(result, "checks.json"), "utf8")) as Record<string, unknown>[],
    )
    .filter(({ status }) => status === "FAILURE" || status === "WARNING");
}

/** The checks that failed, and what our client said. */
function explain(scenario: string, folder: string): void {
  for (const check of faultsOf(scenario, folder)) {
    const { status, id, description, errorMessage = "" } = check;
    process.stdout.write(`${scenario}: ${status}: ${id}: ${description}: ${errorMessage}\n`);
  }
  for (const result of resultsOf(scenario, folder)) {
    const said = join(result, "stderr.txt");
    if (existsSync(said)) process.stdout.write(readFileSync(said, "utf8"));
  }
}

function reasonOf(side: Side, scenario: string): string | undefined {
  return Object.entries(side === "client" ? NOT_OUR_CLIENT : NOT_OUR_SERVER).find(([start]) =>
    scenario.startsWith(start),
  )?.[1];
}

function print(
  side: Side,
  outcomes: readonly Outcome[],
  left: readonly string[],
  unexplained: readonly string[],
): void {
  const width = Math.max(
    ...[...outcomes.map(({ scenario }) => scenario), ...left].map(({ length }) => length),
  );
  const lines = outcomes.map(({ revision, scenario, passed, failed, note, isFine }) =>
    `${isFine ? "ok    " : "FAILED"}  ${revision}  ${scenario.padEnd(width)}  ${passed}/${passed + failed}  ${note}`.trimEnd(),
  );
  const rest = left.map((scenario) =>
    unexplained.includes(scenario)
      ? `FAILED  did not run  ${scenario}`
      : `-       not for us  ${scenario.padEnd(width)}       ${reasonOf(side, scenario)}`,
  );
  process.stdout.write(`${[...lines, ...rest].join("\n")}\n`);
}

await main();
