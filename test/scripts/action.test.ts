/** The steps of action.yml: what a workflow gives them reaches the program as it is, and never a shell. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";

const ROOT = join(import.meta.dir, "../..");
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-action-"));
  mkdirSync(join(folder, "sandpy/bin"), { recursive: true });
  const program = join(folder, "sandpy/bin/sandpy");
  writeFileSync(program, '#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n');
  chmodSync(program, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

function action(step: string, inputs: Readonly<Record<string, string>>) {
  return runChild({
    command: "bash",
    args: [join(ROOT, "scripts/action"), step],
    env: {
      PATH: process.env["PATH"] ?? "",
      RUNNER_TEMP: folder,
      ACTION_FOLDER: ROOT,
      INPUT_FILE: "",
      INPUT_CODE: "",
      INPUT_ARGS: "",
      INPUT_FLAGS: "",
      INPUT_VERSION: "",
      ...inputs,
    },
    cwd: folder,
    timeoutMs: 20_000,
  });
}

test("passes file, flags and arguments on as they are", async () => {
  const evil = `$(touch ${folder}/pwned); \`touch ${folder}/pwned\` "'`;
  const { code, stdout } = await action("run", {
    INPUT_FILE: "-c",
    INPUT_FLAGS: `--timeout=5\n--env=A=${evil}\n`,
    INPUT_ARGS: `--since\n${evil}\n`,
  });
  const expected = ["run", "--timeout=5", `--env=A=${evil}`, "./-c", "--", "--since", evil];
  expect([code, stdout.trimEnd().split("\n")]).toEqual([0, expected]);
  expect(existsSync(join(folder, "pwned"))).toBe(false);
});

test("passes code on with its lines", async () => {
  const { stdout } = await action("run", { INPUT_CODE: "print(1)\nprint('$HOME')" });
  expect(stdout).toBe("run\n--code=print(1)\nprint('$HOME')\n--\n");
});

test.each<[Readonly<Record<string, string>>, string]>([
  [{}, "neither file nor code is given"],
  [{ INPUT_FILE: "a", INPUT_CODE: "b" }, "both file and code are given"],
  [{ INPUT_FILE: "a", INPUT_FLAGS: "evil.py" }, "a line that is no flag"],
  [{ INPUT_FILE: "a", INPUT_FLAGS: "--" }, "a line that is no flag"],
])("refuses %j", async (inputs, words) => {
  const { code, stderr } = await action("run", inputs);
  expect([code, stderr.startsWith("::error title=sandpy::"), stderr.includes(words)]).toEqual([
    2,
    true,
    true,
  ]);
});

test.each<[Readonly<Record<string, string>>, string]>([
  [{ INPUT_VERSION: "1/../..", ACTION_REPOSITORY: "a/b", SERVER: "https://github.com" }, "is no version"],
  [{ ACTION_REPOSITORY: "", SERVER: "https://github.com" }, "does not know its repository"],
])("installs nothing for %j", async (inputs, words) => {
  const { code, stderr } = await action("install", inputs);
  expect([code, stderr.includes(words)]).toEqual([2, true]);
});

test("action.yml takes no input into a script, and docs/ci.md pins every action", () => {
  const lines = readFileSync(join(ROOT, "action.yml"), "utf8").split("\n");
  const scripts = lines.filter((line) => line.trimStart().startsWith("run: "));
  expect(scripts.length).toBe(2);
  expect(scripts.filter((line) => line.includes("${{"))).toEqual([]);
  const used = [...readFileSync(join(ROOT, "docs/ci.md"), "utf8").matchAll(/uses: \S+@(\S+)/g)];
  expect(used.map(([, ref = ""]) => /^[0-9a-f]{40}$/.test(ref))).toEqual([true, true]);
});
