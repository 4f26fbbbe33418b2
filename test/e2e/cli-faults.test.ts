/** What scripts meet on the command line; the ids are those of our list of faults that others have met. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ChildResult, runChild, startChild } from "../../src/core/child.ts";
import { patient } from "../helpers/patient.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv, containersOf, until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

const SERVER = join(import.meta.dir, "../fixtures/servers/catalogue-server.py");
/** More than any buffer between two processes. */
const LARGE = 3_000_000;

let home: TestHome;
beforeAll(async () => {
  home = createHome();
  const tools = Array.from({ length: 2000 }, (_, at) => ({
    name: `tool_${at}`,
    description: "d".repeat(700),
    inputSchema: { type: "object" },
  }));
  const large = {
    name: "large",
    inputSchema: { type: "object" },
    result: { content: [{ type: "text", text: "b".repeat(LARGE) }] },
  };
  const fx = {
    command: "python3",
    args: [SERVER, home.write("tools.json", JSON.stringify([...tools, large]))],
  };
  const off = { command: "python3", args: ["x".repeat(600)], disabled: true };
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`off-${at}`, off]));
  home.defineServers({ fx, ...many });
  home.write("large.json", JSON.stringify([{ key: "large", value: "y".repeat(LARGE) }]));
  home.write("value.json", JSON.stringify("y".repeat(LARGE)));
  expect(await inShell('"$0" memory set large - <value.json')).toMatchObject({ code: 0 });
  expect((await command(["tools", "fx"], { home })).code).toBe(0);
}, 60_000);
afterAll(() => home[Symbol.dispose]());

/** Runs a line of bash in which "$0" is the binary. */
function inShell(line: string): Promise<ChildResult> {
  return runChild({
    command: "bash",
    args: ["-c", line, BINARY],
    env: bridgeEnv(home.path, { MCP_BRIDGE_LOG_LEVEL: "ERROR" }),
    cwd: home.path,
    timeoutMs: 60_000,
    maxChars: 1024 ** 2,
  });
}

describe("CLI-1: output", () => {
  test.each([
    "servers",
    "servers --json",
    "tools",
    "tools --json",
    "call fx large",
    "call fx large --json",
    "memory show large",
    "memory show large --json",
    "memory export",
  ])("of %s is the same in a file, in a pipe and for a slow reader", async (words) => {
    const line = `set -o pipefail
"$0" ${words} >file && "$0" ${words} | cat >pipe && "$0" ${words} | (sleep 1; cat) >slow && cmp file pipe && cmp file slow`;
    expect(await inShell(line)).toMatchObject({ code: 0, stdout: "", stderr: "" });
    const text = readFileSync(join(home.path, "file"), "utf8");
    expect(text.length).toBeGreaterThan(1_000_000);
    if (words.includes("--json") || words.endsWith("export")) expect(() => JSON.parse(text)).not.toThrow();
  });

  test.each(["servers --json", "tools", "call fx large", "memory export", "--help", "completions zsh"])(
    "of %s ends without a word when nobody reads on",
    async (words) => {
      const { stdout, stderr } = await inShell(
        `"$0" ${words} | head -c 10 >/dev/null; echo "$\{PIPESTATUS[0]}"`,
      );
      expect([stdout, stderr]).toEqual(["0\n", ""]);
    },
  );

  test
    .skipIf(!existsSync("/dev/full"))
    .each(["servers --json", "tools", "call fx large", "memory export", "--help"])(
    "of %s that finds no room is an error",
    async (words) => {
      const { code, stderr } = await inShell(`"$0" ${words} >/dev/full`);
      expect(code).toBe(1);
      expect(stderr).toStartWith("sandpy: the output is not complete: the disk is full");
    },
  );
});

describe("CLI-2: the end of stdin", () => {
  const initialize = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });

  test("ends what serves, before and after a client spoke", async () => {
    const begun = performance.now();
    expect(await inShell('"$0" </dev/null')).toMatchObject({ code: 0, stdout: "", stderr: "" });
    const answered = await inShell(`printf '%s\\n' '${initialize}' | "$0"`);
    expect([answered.code, JSON.parse(answered.stdout).id]).toEqual([0, 1]);
    expect(performance.now() - begun).toBeLessThan(patient(15_000));
  });

  test("is an answer where something is read or asked", async () => {
    for (const line of [
      '"$0" run - </dev/null',
      '"$0" memory delete large </dev/null && "$0" memory import large.json',
    ]) {
      const { code, stderr } = await inShell(line);
      expect(code).toBe(0);
      expect(stderr.replace(/^sandpy: This engine does not enforce .*\n?/, "")).toBe(""); // rootless on cgroup v1
    }
    expect((await inShell('"$0" call fx large - </dev/null')).code).toBe(2);
  });
});

test("memory export writes into a pipe and along a link, and replaces neither", async () => {
  mkdirSync(join(home.path, "real"));
  writeFileSync(join(home.path, "real/backup.json"), "");
  symlinkSync("real/backup.json", join(home.path, "link.json"));
  const line =
    'mkfifo pipe2 && { wc -c <pipe2 >count & "$0" memory export pipe2 && wait; } && "$0" memory export link.json';
  expect(await inShell(line)).toMatchObject({ code: 0, stderr: "" });
  expect(lstatSync(join(home.path, "pipe2")).isFIFO()).toBe(true);
  expect(lstatSync(join(home.path, "link.json")).isSymbolicLink()).toBe(true);
  expect(Number(readFileSync(join(home.path, "count"), "utf8"))).toBeGreaterThan(LARGE);
  expect(readFileSync(join(home.path, "real/backup.json"), "utf8").length).toBeGreaterThan(LARGE);
});

describe("Ctrl-C ends with 130", () => {
  test.each([
    ["a call", ["call", "slow", "wait"]],
    ["asking a server for its tools", ["tools", "mute", "--refresh"]],
    ["asking Python of saved tools", ["memory", "tools", "list"]],
  ])("%s, and leaves nothing behind", async (_title, args) => {
    const slow = (script: object) => ({
      command: process.execPath,
      args: [join(import.meta.dir, "../fixtures/servers/scripted-server.ts"), JSON.stringify(script)],
    });
    using own = createHome();
    const journal = join(own.path, "journal");
    own.defineServers({
      slow: slow({ journal, tools: { wait: { mute: true } } }),
      mute: slow({ journal, mute: ["tools/list"] }),
    });
    const { stdout: path } = await command(["memory", "tools", "path"], { home: own });
    // The file is loaded when Python starts: it says when, and does not come to an end.
    const file = path.trim().slice(own.path.length + 1);
    own.write(file, `import time\ntime.sleep(60)\n`);
    const child = await startChild({
      command: BINARY,
      args,
      env: bridgeEnv(own.path, { MCP_BRIDGE_LOG_LEVEL: "ERROR" }),
      cwd: own.path,
    });
    child.endInput();
    await until("it waits", async () =>
      args[0] === "memory"
        ? (await containersOf(child.pid)).length > 0
        : existsSync(journal) && /tools\/(call|list)/.test(readFileSync(journal, "utf8")),
    );
    child.kill("SIGINT");
    const { code } = await child.exited;
    expect([code, child.stderrText()]).toEqual([130, ""]);
    await until("no container", async () => (await containersOf(child.pid)).length === 0);
  });
});
