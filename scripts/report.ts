import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { type FileTally, notRunAgain, readJunit, sumOf } from "./lib/junit.ts";

/**
 * Counts what the steps of `scripts/test` did, from the runners' own reports.
 *
 *     bun scripts/report.ts sum STEPS.tsv       prints the summary and the closing line; exit code 1 where a test failed
 *     bun scripts/report.ts few TESTS REPORT    the files of the tests that failed, with commas, where these are few
 *
 * One step a line: name, kind, exit code, seconds, report file; tab separated. Kinds: `check` (its exit code is the
 * result), `bun:TESTS` (JUnit of `bun test`; TESTS is `unit`, `e2e` or files with commas), `again:FILES` (some files of
 * the step before it once more: counts instead of what they did there), `json` (`{passed, failed, skipped}`).
 */

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What the numbers do not say: a report that is missing, a file that ran no test. Each counts as a failure. */
  readonly problems: readonly string[];
}

interface Step {
  readonly name: string;
  readonly kind: string;
  readonly exit: number;
  readonly seconds: string;
  readonly report: string;
}

/** How `bun test` ends where tests failed. */
const EXIT_FAILED = 1;
/** More than these in one step are no chance. */
const FEW = 3;

const root = resolve(import.meta.dir, "..");

function sum(file: string): void {
  const steps = readFileSync(file, "utf8").split("\n").flatMap(readStep);
  const total = { passed: 0, failed: 0 };
  const lines: string[] = [];
  const chancy: string[] = [];
  for (const step of steps) {
    if (isAgain(step)) continue;
    const again = steps.find((other) => isAgain(other) && other.report === againOf(step.report));
    const tally = again === undefined ? readTally(step) : tallyAgain(step, again, chancy);
    total.passed += tally.passed;
    total.failed += tally.failed + tally.problems.length;
    const seconds = String(Number(step.seconds) + Number(again?.seconds ?? 0));
    const numbers = `${tally.passed} passed, ${tally.failed + tally.problems.length} failed, ${tally.skipped} skipped`;
    lines.push(`${step.name.padEnd(38)} ${seconds.padStart(4)} s  ${numbers}`);
    for (const problem of tally.problems) lines.push(`    ${problem}`);
  }
  if (steps.length === 0) total.failed += 1;
  if (chancy.length > 0) lines.push("", "passed only when run again, alone:", ...chancy);
  process.stdout.write(`\n${lines.join("\n")}\n\n${total.passed} passed, ${total.failed} failed\n`);
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
}

function few(tests: string, report: string): void {
  let files: ReadonlyMap<string, FileTally>;
  try {
    files = readJunit(readFileSync(report, "utf8"));
  } catch {
    return; // it ended before it had a report: the sum says so
  }
  const missing = missingFiles(tests, files);
  const failed = [...files].filter(([, tally]) => tally.failed.length > 0).map(([name]) => name);
  const count = sumOf(files.values()).failed + missing.length;
  if (count > 0 && count <= FEW) process.stdout.write(`${[...failed, ...missing].join(",")}\n`);
}

function readStep(line: string): Step[] {
  if (line === "") return [];
  const [name = "", kind = "", exit = "", seconds = "", report = ""] = line.split("\t");
  return [{ name, kind, exit: Number(exit), seconds, report }];
}

function isAgain({ kind }: Step): boolean {
  return kind.startsWith("again:");
}

/** Where `scripts/test` has the report of a second run written. */
function againOf(report: string): string {
  return `${report}.again`;
}

function readTally({ kind, exit, report }: Step): Tally {
  if (kind === "check")
    return { passed: exit === 0 ? 1 : 0, failed: exit === 0 ? 0 : 1, skipped: 0, problems: [] };
  try {
    if (!existsSync(report)) throw new Error(`left no report (exit code ${exit})`);
    const text = readFileSync(report, "utf8");
    return kind === "json" ? counted(readJson(text), [], exit) : tallyOf(kind, readJunit(text), exit);
  } catch (error) {
    return { passed: 0, failed: 0, skipped: 0, problems: [(error as Error).message] };
  }
}

/** What `again` did stands for what its files did in `step`. Adds the tests that failed only there to `chancy`. */
function tallyAgain(step: Step, again: Step, chancy: string[]): Tally {
  const repeated = readTally(again);
  if (repeated.passed === 0) return readTally(step);
  const files = new Map(readJunit(readFileSync(step.report, "utf8")));
  const problems = step.exit === EXIT_FAILED ? [] : [`exit code ${step.exit} of the first run`];
  for (const [name, tally] of readJunit(readFileSync(again.report, "utf8"))) {
    const first = files.get(name);
    const left = first === undefined ? [] : notRunAgain(first, tally);
    problems.push(...left.map((title) => `${name}: ${title}: failed, and was not run again`));
    const others = new Set([...tally.failed, ...left]);
    chancy.push(
      ...(first?.failed ?? ["its file did not load"])
        .filter((title) => !others.has(title))
        .map((title) => `    ${step.name}: ${name}: ${title}`),
    );
    files.set(name, tally);
  }
  const sums = tallyOf(step.kind, files, again.exit);
  return { ...sums, problems: [...sums.problems, ...problems] };
}

function tallyOf(kind: string, files: ReadonlyMap<string, FileTally>, exit: number): Tally {
  // A file that does not load is not in the report: look for each file that should be.
  const missing = missingFiles(kind.slice(kind.indexOf(":") + 1), files);
  return counted(
    sumOf(files.values()),
    missing.map((name) => `${name} reported no test`),
    exit,
  );
}

function counted(sums: Omit<Tally, "problems">, problems: readonly string[], exit: number): Tally {
  if (sums.passed + sums.failed === 0) return { ...sums, problems: [...problems, "ran no test"] };
  if (exit !== 0 && sums.failed + problems.length === 0)
    return { ...sums, problems: [`exit code ${exit}, though no test failed`] };
  return { ...sums, problems };
}

function missingFiles(tests: string, files: ReadonlyMap<string, FileTally>): string[] {
  return testFiles(tests).filter((name) => !files.has(name));
}

/** The files that `bun test` was to run: all of `test/` but the end-to-end ones, those alone, or the ones named. */
function testFiles(tests: string): string[] {
  if (tests.endsWith(".test.ts")) return tests.split(",");
  const endToEnd = join("test", "e2e");
  return [...new Bun.Glob("test/**/*.test.ts").scanSync(root)]
    .map((name) => relative(root, resolve(root, name)))
    .filter((name) => name.startsWith(endToEnd) === (tests === "e2e"))
    .sort();
}

function readJson(text: string): Omit<Tally, "problems"> {
  const value = JSON.parse(text) as Record<string, unknown>;
  return {
    passed: toCount(value["passed"]),
    failed: toCount(value["failed"]),
    skipped: toCount(value["skipped"] ?? 0),
  };
}

function toCount(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new Error(`report has no count: ${JSON.stringify(value)}`);
  return value;
}

const [command, ...operands] = process.argv.slice(2);
if (command === "sum" && operands.length === 1) sum(operands[0] ?? "");
else if (command === "few" && operands.length === 2) few(operands[0] ?? "", operands[1] ?? "");
else throw new Error("usage: bun scripts/report.ts sum STEPS.tsv | few TESTS REPORT");
