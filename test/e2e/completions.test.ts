/** Completions in the shells themselves: their scripts are sourced there, and Tab is pressed. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";
import { until } from "../helpers/until.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

const SERVER = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");
const HOSTILE = "x$(touch ran)`touch ran`; touch ran";

let home: TestHome;
beforeAll(async () => {
  home = createHome();
  const script = JSON.stringify({ tools: { search_issues: {}, "close-issue": {} } });
  const server = { command: process.execPath, args: [SERVER, script] };
  home.defineServers({ github: server, gitlab: server, [HOSTILE]: { ...server, disabled: true } });
  home.write("data/report.py", "");
  home.write("data/odd name.py", "");
  mkdirSync(join(home.path, "bin"));
  symlinkSync(BINARY, join(home.path, "bin/sandpy"));
  await command(["memory", "set", "my notes", "1"], { home });
  expect((await command(["tools", "github"], { home })).code).toBe(0);
});
afterAll(() => home[Symbol.dispose]());

function shell(name: string): string {
  const path = Bun.which(name);
  if (path === null)
    throw new Error(
      `${name} is needed for this test: install the package "${name}", or run ./scripts/test e2e as root`,
    );
  return path;
}

function shellEnv(): Record<string, string> {
  const env = bridgeEnv(home.path, { TERM: "xterm", ZDOTDIR: home.path });
  return { ...env, PATH: `${join(home.path, "bin")}:${process.env["PATH"]}` };
}

async function inShell(name: string, args: readonly string[], script: string): Promise<string> {
  const { stdout, stderr } = await runChild({
    command: shell(name),
    args: [...args, home.write(`script.${name}`, script)],
    env: shellEnv(),
    cwd: home.path,
    timeoutMs: 60_000,
    maxChars: 1024 ** 2,
  });
  expect(stderr).toBe("");
  return stdout;
}

/** What is typed, the last word being completed, and what has to be, and must not be, among what is offered. */
const CASES: readonly (readonly [
  typed: readonly string[],
  offered: readonly string[],
  not: readonly string[],
])[] = [
  [["ca"], ["call"], ["config"]],
  [[""], ["serve", "memory", "completions"], ["__complete", "--help"]],
  [["memory", ""], ["list", "tools"], ["serve"]],
  [["memory", "tools", "d"], ["delete"], ["list"]],
  [["run", "--ti"], ["--timeout"], ["--servers"]],
  [["completions", ""], ["bash", "zsh", "fish"], []],
  [["servers", "--json", "g"], ["github", "gitlab"], []],
  [["call", "gith"], ["github"], ["gitlab"]],
  [["call", "github", ""], ["search_issues", "close-issue"], []],
  [["run", "--timeout", "5", "data/r"], ["data/report.py"], ["data/odd name.py"]],
  [["config", "get", "policy.r"], ["policy.readOnly"], ["timeout"]],
];

describe("bash", () => {
  test("offers what can stand in each place", async () => {
    const calls = CASES.map(([typed]) => `try sandpy ${typed.map((word) => `'${word}'`).join(" ")}`);
    const out = await inShell(
      "bash",
      ["--norc"],
      `source <(sandpy completions bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sandpy; printf '%s\\n' "\${COMPREPLY[@]}" END; }
${calls.join("\n")}
try sandpy run --config = data/
try sandpy memory show my
try sandpy servers x
try sandpy run a.py -- --ti
`,
    );
    const answers = out.split("END\n").map((block) => block.split("\n").filter((line) => line !== ""));
    for (const [index, [, offered, not]] of CASES.entries()) {
      expect(answers[index]).toEqual(expect.arrayContaining([...offered]));
      expect(not.filter((word) => answers[index]?.includes(word))).toEqual([]);
    }
    const [path, key, hostile, after] = answers.slice(CASES.length);
    expect(path?.sort()).toEqual(["data/odd name.py", "data/report.py"]);
    expect(key).toEqual(["my\\ notes"]);
    expect(hostile?.[0]).toContain("\\$\\(touch\\ ran\\)");
    expect(after).toEqual([]);
    expect(await Bun.file(join(home.path, "ran")).exists()).toBe(false);
  });

  test("registers with Tab itself", async () => {
    await onTerminal("bash", ["--norc", "--noprofile", "-i"], "source <(sandpy completions bash)", [
      ["sandpy mem\t", "sandpy memory "],
      ["sandpy call github se\t", "sandpy call github search_issues "],
      ["sandpy run --config data/re\t", "sandpy run --config data/report.py "],
      ["sandpy run --config=data/re\t", "sandpy run --config=data/report.py "],
      ["sandpy memory show my\t", "sandpy memory show my\\ notes "],
    ]);
  });
});

describe("zsh", () => {
  test("completes with Tab", async () => {
    const setUp = 'autoload -Uz compinit; compinit -u -D; eval "$(sandpy completions zsh)"';
    await onTerminal("zsh", ["-f", "-i"], setUp, [
      ["sandpy mem\t", "sandpy memory "],
      ["sandpy memory tools d\t", "sandpy memory tools delete "],
      ["sandpy memory \t", "List the files of /projects"],
      ["sandpy call gith\t", "sandpy call github "],
      ["sandpy call github se\t", "sandpy call github search_issues "],
      ["sandpy run --timeo\t", "sandpy run --timeout="],
      ["sandpy run --timeout 5 data/re\t", "sandpy run --timeout 5 data/report.py "],
      ["sandpy run --config=data/re\t", "sandpy run --config=data/report.py "],
      ["sandpy completions z\t", "sandpy completions zsh "],
      ["sandpy memory show my\t", "sandpy memory show my\\ notes "],
      ["sandpy servers x\t", "\\$\\(touch\\ ran\\)"],
    ]);
    expect(await Bun.file(join(home.path, "ran")).exists()).toBe(false);
  });

  test("takes the script as a file of fpath", async () => {
    home.write("zfunc/_sandpy", (await command(["completions", "zsh"], { home })).stdout);
    await onTerminal("zsh", ["-f", "-i"], "fpath=(~/zfunc $fpath); autoload -Uz compinit; compinit -u -D", [
      ["sandpy mem\t", "sandpy memory "],
      ["sandpy tru\t", "sandpy trust "],
    ]);
  });
});

describe("fish", () => {
  test("offers what can stand in each place", async () => {
    const lines = [
      ...CASES.map(([typed]) => `sandpy ${typed.join(" ")}`),
      "sandpy run --config=data/r",
      "sandpy memory show my",
      "sandpy servers x",
      "sandpy run a.py -- --ti",
    ];
    const out = await inShell(
      "fish",
      ["--no-config"],
      `sandpy completions fish | source\n${lines.map((line) => `complete -C '${line}'; echo END`).join("\n")}\n`,
    );
    const answers = out
      .split("END\n")
      .map((block) => block.split("\n").map((line) => line.split("\t")[0] ?? ""));
    for (const [index, [, offered, not]] of CASES.entries()) {
      expect(answers[index]).toEqual(expect.arrayContaining([...offered]));
      expect(not.filter((word) => answers[index]?.includes(word))).toEqual([]);
    }
    const [path, key, hostile, after] = answers.slice(CASES.length);
    expect(path).toContain("--config=data/report.py");
    expect(key).toContain("my notes");
    expect(hostile).toContain(HOSTILE);
    expect(after).toEqual([""]);
    expect(await Bun.file(join(home.path, "ran")).exists()).toBe(false);
  });
});

test.each(["bash", "zsh", "fish"])(
  "the script of %s has nothing that its shell cannot read",
  async (name) => {
    const { stdout } = await command(["completions", name], { home });
    expect(await inShell(name, ["-n"], stdout)).toBe("");
  },
);

/** Types lines on a terminal where the shell runs, and waits for what has to come on the screen after each. */
async function onTerminal(
  name: string,
  args: readonly string[],
  setUp: string,
  lines: readonly (readonly [typed: string, shown: string])[],
): Promise<void> {
  let screen = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([shell(name), ...args], {
    env: shellEnv(),
    cwd: home.path,
    terminal: {
      cols: 200,
      rows: 50,
      data: (_, bytes) => {
        screen += decoder.decode(bytes, { stream: true });
      },
    },
  });
  try {
    child.terminal?.write(`PS1='> '; ${setUp}; echo rea''dy\n`);
    await until("the shell", () => screen.includes("ready"), 30_000);
    for (const [typed, shown] of lines) {
      screen = "";
      child.terminal?.write(typed);
      await until(
        `"${shown}" after ${JSON.stringify(typed)}; there is ${JSON.stringify(screen)}`,
        () => plain(screen).includes(shown),
        10_000,
      );
      child.terminal?.write("\u0015");
    }
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

/** What a terminal shows, as far as these lines need it: without escape sequences. */
function plain(screen: string): string {
  return Bun.stripANSI(screen).replaceAll("\u0007", "");
}
