import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const SCRIPTS = join(import.meta.dir, "../../scripts");
/** Those that a person starts; "action" is for a workflow alone, which gives it all by variables. */
const names = readdirSync(SCRIPTS).filter(
  (name) => name !== "action" && !name.includes(".") && statSync(join(SCRIPTS, name)).isFile(),
);

/** The comment at the head of a script, which is its usage. */
function usageOf(name: string): string {
  const [, ...lines] = readFileSync(join(SCRIPTS, name), "utf8").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("#"));
  return `${lines
    .slice(0, end)
    .map((line) => line.replace(/^# ?/, ""))
    .join("\n")}\n`;
}

/** Where it goes on to set anything up, it finds no program for that. */
function run(name: string, ...args: string[]) {
  const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent" };
  const { exitCode, stdout, stderr } = Bun.spawnSync([join(SCRIPTS, name), ...args], {
    env,
    timeout: 10_000,
  });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe("every script", () => {
  test.each(names)("%s prints its usage where it is asked for it", (name) => {
    for (const flag of ["--help", "-h"]) {
      expect(run(name, flag)).toEqual({ exitCode: 0, stdout: usageOf(name), stderr: "" });
    }
    expect(usageOf(name).length).toBeGreaterThan(40);
  });

  test.each(names)("%s refuses a flag that it does not know, before it begins", (name) => {
    const { exitCode, stdout, stderr } = run(name, "--nope=1");
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toEndWith(usageOf(name));
    if (name !== "smoke") expect(stderr).toStartWith('error: unknown flag "--nope"\n');
  });
});

test.each([
  ["soak", [], 'expected "load" or "orphans"'],
  ["soak", ["lode"], 'unknown "lode"'],
  ["soak", ["load", "--minutes"], '"--minutes" needs a value'],
  ["fuzz", ["host", "moon"], 'unknown "moon"'],
  ["conformance", ["--report", "x"], 'expected "client" or "server"'],
  ["docs", ["x"], 'unknown "x"'],
  ["build", ["x"], 'unknown "x"'],
  ["test", ["nothing"], 'unknown part "nothing"'],
  ["test", ["unit", "x"], 'unknown "x" after "unit"'],
  ["test", ["sandbox", "3.x"], 'no version of Python: "3.x"'],
])("%s %j is refused with what is wrong and the usage", (name, args, message) => {
  const { exitCode, stdout, stderr } = run(name, ...args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toStartWith(`error: ${message}`);
  expect(stderr).toEndWith(usageOf(name));
});
