import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/**
 * Counts what the steps of `scripts/test` did, from the runners' own reports, and prints the closing line.
 *
 *     bun scripts/report.ts STEPS.tsv
 *
 * One step a line: name, kind, exit code, seconds, report file; tab separated. Kinds: `check` (its exit code is the
 * result), `bun:unit`, `bun:e2e` or `bun:FILE,FILE` (JUnit of `bun test` over those test files), `json` (`{passed, failed,
 * skipped}`).
 */

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What the numbers do not say: a report that is missing, a file that ran no test. */
  readonly problems: readonly string[];
}

const root = resolve(import.meta.dir, "..");

function main(): void {
  const file = process.argv[2];
  if (file === undefined) throw new Error("usage: bun scripts/report.ts STEPS.tsv");
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines: string[] = [];
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line === "") continue;
    const [name = "", kind = "", exit = "", seconds = "", report = ""] = line.split("\t");
    const tally = readTally(kind, Number(exit), report);
    total.passed += tally.passed;
    total.failed += tally.failed;
    total.skipped += tally.skipped;
    const numbers = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
    lines.push(`${name.padEnd(38)} ${seconds.padStart(4)} s  ${numbers}`);
    for (const problem of tally.problems) lines.push(`    ${problem}`);
  }
  if (lines.length === 0) total.failed += 1;
  process.stdout.write(`\n${lines.join("\n")}\n\n${total.passed} passed, ${total.failed} failed\n`);
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
}

function readTally(kind: string, exit: number, report: string): Tally {
  if (kind === "check")
    return { passed: exit === 0 ? 1 : 0, failed: exit === 0 ? 0 : 1, skipped: 0, problems: [] };
  if (!existsSync(report))
    return { passed: 0, failed: 1, skipped: 0, problems: [`left no report (exit code ${exit})`] };
  const text = readFileSync(report, "utf8");
  const tally = kind === "json" ? readJson(text) : readJunit(text, kind.replace(/^bun:/, ""));
  const problems = [...tally.problems];
  if (tally.passed + tally.failed === 0) problems.push("ran no test");
  else if (exit !== 0 && tally.failed + problems.length === 0)
    problems.push(`exit code ${exit}, though no test failed`);
  return { ...tally, failed: tally.failed + problems.length, problems };
}

function readJson(text: string): Tally {
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    return {
      passed: toCount(value["passed"]),
      failed: toCount(value["failed"]),
      skipped: toCount(value["skipped"] ?? 0),
      problems: [],
    };
  } catch (error) {
    return { passed: 0, failed: 0, skipped: 0, problems: [`report is not as expected: ${String(error)}`] };
  }
}

function readJunit(text: string, folder: string): Tally {
  const all = /<testsuites\b([^>]*)>/.exec(text)?.[1] ?? "";
  const attribute = (name: string): number =>
    Number(new RegExp(` ${name}="(\\d+)"`).exec(all)?.[1] ?? Number.NaN);
  const tests = attribute("tests");
  const failed = attribute("failures");
  const skipped = attribute("skipped");
  if (!text.trimEnd().endsWith("</testsuites>") || Number.isNaN(tests + failed + skipped))
    return { passed: 0, failed: 0, skipped: 0, problems: ["report is not JUnit of bun test"] };
  // A file that does not load is not in the report: look for each file that should be.
  const reported = new Set([...text.matchAll(/<testsuite\b[^>]* file="([^"]*)"/g)].map((match) => match[1]));
  const missing = testFiles(folder).filter((name) => !reported.has(name));
  return {
    passed: tests - failed - skipped,
    failed,
    skipped,
    problems: missing.map((name) => `${name} reported no test`),
  };
}

/** The files that `bun test` was to run: all of `test/` but the end-to-end ones, those alone, or the ones named. */
function testFiles(folder: string): string[] {
  if (folder.endsWith(".test.ts")) return folder.split(",");
  const endToEnd = join("test", "e2e");
  return [...new Bun.Glob("test/**/*.test.ts").scanSync(root)]
    .map((name) => relative(root, resolve(root, name)))
    .filter((name) => name.startsWith(endToEnd) === (folder === "e2e"))
    .sort();
}

function toCount(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new Error(`not a count: ${JSON.stringify(value)}`);
  return value;
}

main();
