import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runChild } from "../../src/core/child.ts";

/** What `bun test` really reports of files that fail always, at their first run, and never. */
const SOURCES: Readonly<Record<string, string>> = {
  "good.test.ts": `test("a < b & c", () => {}); test.skip("later", () => {});`,
  "chancy.test.ts": `test("steady", () => {});
    describe("with <few>", () => test("by chance", () => { expect(process.env["RUN"]).toBe("2"); }));`,
  "fleeting.test.ts": `test("steady", () => {});
    test.skipIf(process.env["RUN"] === "2")("once", () => { expect(1).toBe(2); });`,
  "dying.test.ts": `beforeAll(() => { if (process.env["RUN"] === "1") throw new Error("no engine"); }); test("then", () => {});`,
  "bad.test.ts": `test("never", () => { expect(1).toBe(2); }); test("hangs", () => new Promise(() => {}), 50);`,
  "unloadable.test.ts": `import "./nowhere.ts"; test("unseen", () => {});`,
};
const folder = mkdtempSync(join(tmpdir(), "sandpy-report-"));
beforeAll(() => {
  for (const [name, source] of Object.entries(SOURCES))
    writeFileSync(
      join(folder, name),
      `import { beforeAll, describe, expect, test } from "bun:test";\n${source}`,
    );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function bun(args: readonly string[], run = "1"): Promise<{ code: number | null; stdout: string }> {
  const env = { HOME: folder, PATH: process.env["PATH"] ?? "", RUN: run };
  return await runChild({
    command: process.execPath,
    args,
    env,
    cwd: folder,
    timeoutMs: 60_000,
    maxChars: 1e6,
  });
}

const REPORT = resolve(import.meta.dir, "../../scripts/report.ts");

/** Runs the files and returns their line for the steps. */
async function step(kind: string, report: string, run: string): Promise<string> {
  const files = kind
    .slice(kind.indexOf(":") + 1)
    .split(",")
    .map((name) => `./${name}`);
  const path = join(folder, report);
  const { code } = await bun(["test", "--reporter=junit", `--reporter-outfile=${path}`, ...files], run);
  return `tests\t${kind}\t${code}\t1\t${path}\n`;
}

async function sum(steps: readonly string[]): Promise<{ code: number | null; stdout: string }> {
  writeFileSync(join(folder, "steps.tsv"), steps.join(""));
  return await bun([REPORT, "sum", join(folder, "steps.tsv")]);
}

test("counts what passed, failed and was skipped, and each file without a report as failed", async () => {
  const line = await step("bun:good.test.ts,bad.test.ts,unloadable.test.ts", "all.xml", "1");
  const { code, stdout } = await sum([line, "types\tcheck\t0\t3\t\n", "format\tcheck\t1\t3\t\n"]);
  expect(code).toBe(1);
  expect(stdout).toContain("unloadable.test.ts reported no test");
  expect(stdout).toMatch(/tests +1 s {2}1 passed, 3 failed, 1 skipped/);
  expect(stdout).toEndWith("\n2 passed, 4 failed\n");
});

test.each([
  ["bun:good.test.ts,chancy.test.ts,unloadable.test.ts", "chancy.test.ts,unloadable.test.ts\n"],
  ["bun:good.test.ts", ""],
])("names the files of few failed tests: %s", async (kind, expected) => {
  await step(kind, "few.xml", "1");
  expect((await bun([REPORT, "few", kind.slice(4), join(folder, "few.xml")])).stdout).toBe(expected);
});

test("names no file where many tests failed, or there is no report", async () => {
  const many = Array.from({ length: 4 }, (_, n) => `test("${n}", () => { expect(1).toBe(2); });`).join("");
  writeFileSync(join(folder, "many.test.ts"), `import { expect, test } from "bun:test"; ${many}`);
  await step("bun:many.test.ts", "many.xml", "1");
  expect((await bun([REPORT, "few", "many.test.ts", join(folder, "many.xml")])).stdout).toBe("");
  expect((await bun([REPORT, "few", "many.test.ts", join(folder, "none.xml")])).stdout).toBe("");
});

test("counts the second run of what failed by chance, and names it", async () => {
  const steps = [
    await step("bun:good.test.ts,chancy.test.ts", "one.xml", "1"),
    await step("again:chancy.test.ts", "one.xml.again", "2"),
  ];
  const { code, stdout } = await sum(steps);
  expect(code).toBe(0);
  expect(stdout).toContain(
    "passed only when run again, alone:\n    tests: chancy.test.ts: with &lt;few&gt; > by chance\n",
  );
  expect(stdout).toEndWith("\n3 passed, 0 failed\n");
});

test("counts as failed what failed twice", async () => {
  const steps = [
    await step("bun:good.test.ts,chancy.test.ts,bad.test.ts", "two.xml", "1"),
    await step("again:chancy.test.ts,bad.test.ts", "two.xml.again", "2"),
  ];
  const { code, stdout } = await sum(steps);
  expect([code, stdout.endsWith("\n3 passed, 2 failed\n")]).toEqual([1, true]);
  expect(stdout).toContain("by chance");
  expect(stdout).not.toContain("> never");
});

test("counts as failed what failed, and was skipped when it was to run again", async () => {
  const steps = [
    await step("bun:good.test.ts,fleeting.test.ts", "skip.xml", "1"),
    await step("again:fleeting.test.ts", "skip.xml.again", "2"),
  ];
  const { code, stdout } = await sum(steps);
  expect([code, stdout.endsWith("\n2 passed, 1 failed\n")]).toEqual([1, true]);
  expect(stdout).toContain("fleeting.test.ts:  > once: failed, and was not run again");
  expect(stdout).not.toContain("passed only");
});

test("counts the tests of a file whose set-up failed by chance", async () => {
  const steps = [
    await step("bun:good.test.ts,dying.test.ts", "dying.xml", "1"),
    await step("again:dying.test.ts", "dying.xml.again", "2"),
  ];
  const { code, stdout } = await sum(steps);
  expect([code, stdout.endsWith("\n2 passed, 0 failed\n")]).toEqual([0, true]);
  expect(stdout).toContain("dying.test.ts:  > (unnamed)");
});

test("counts as failed a first run that was killed, though its tests pass when run again", async () => {
  const first = await step("bun:good.test.ts,chancy.test.ts", "killed.xml", "1");
  const again = await step("again:chancy.test.ts", "killed.xml.again", "2");
  const { code, stdout } = await sum([first.replace("\t1\t1\t", "\t139\t1\t"), again]);
  expect([code, stdout.endsWith("\n3 passed, 1 failed\n")]).toEqual([1, true]);
  expect(stdout).toContain("exit code 139 of the first run");
});

test("counts a report that was cut as failed", async () => {
  writeFileSync(join(folder, "cut.xml"), '<testsuites tests="2" failures="0" skipped="0"><testcase name="a"');
  const { code, stdout } = await sum([`tests\tbun:good.test.ts\t0\t1\t${join(folder, "cut.xml")}\n`]);
  expect([code, stdout.endsWith("\n0 passed, 1 failed\n")]).toEqual([1, true]);
});
