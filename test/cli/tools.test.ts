import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeAge } from "../../src/cli/tools.ts";
import { CliWorld } from "../helpers/cli-world.ts";
import { createJournal, livingWith, until } from "../upstream/harness.ts";

const SCRIPTED = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");
const MAIN = join(import.meta.dir, "../../src/main.ts");
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-tools-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function define(servers: Readonly<Record<string, unknown>>): void {
  mkdirSync(join(home, "MCPs"), { recursive: true });
  writeFileSync(join(home, "MCPs/all.json"), JSON.stringify({ mcpServers: servers }));
}

function scripted(script: object): object {
  return { command: process.execPath, args: [SCRIPTED, JSON.stringify(script)] };
}

async function run(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: process.env["PATH"] ?? "" });
  return world.run("tools", ...argv);
}

test("lists what is known, and starts nothing for it", async () => {
  using journal = createJournal();
  define({
    fx: scripted({ journal: journal.path, tools: { a: {}, "b-c": {} } }),
    other: scripted({ journal: journal.path }),
  });

  expect(await run()).toEqual({
    code: 0,
    stdout: "Never asked: fx, other\nFor their tools, type: sandpy tools --refresh\n",
    stderr: "",
  });
  expect(journal.lines()).toEqual([]);

  const asked = await run("fx");
  expect(asked).toEqual({
    code: 0,
    stdout: "fx: 2 tools, listed just now\n  a    does a\n  b-c  does b-c\n",
    stderr: "",
  });
  expect(await run("fx")).toEqual(asked);
  expect(journal.lines().filter((line) => line === "boot").length).toBe(1);

  expect((await run()).stdout).toBe(
    `${asked.stdout}\nNever asked: other\nFor their tools, type: sandpy tools --refresh\n`,
  );
});

test("says what a tool is that was named as if it were a server", async () => {
  define({ fx: scripted({ tools: { get: {} } }) });

  const { code, stdout, stderr } = await run("fx", "get");

  expect([code, stdout]).toEqual([6, "fx: 1 tool, listed just now\n  get  does get\n"]);
  expect(stderr).toBe(
    'sandpy: no server is called "get": the servers are "fx".\n"fx" has a tool of that name. For its schema, type: sandpy tools fx --json\n',
  );
});

test("says of which tools the user is asked first, and by which rule", async () => {
  define({ fx: scripted({ tools: { wipe: {}, get: { annotations: { readOnlyHint: true } } } }) });
  mkdirSync(join(home, ".config/sandpy"), { recursive: true });
  const file = join(home, ".config/sandpy/config.jsonc");
  writeFileSync(file, '{"policy": {"tools": {"ask": ["destructive"]}}}');
  const world = new CliWorld();
  const env = { HOME: home, PATH: process.env["PATH"] ?? "", MCP_BRIDGE_CONFIG: file };
  Object.assign(world.env, env);

  expect((await world.run("tools", "fx")).stdout).toBe(
    "fx: 2 tools, listed just now\n  wipe  (asks you first) does wipe\n  get   does get\n",
  );
  const other = new CliWorld();
  Object.assign(other.env, env);
  const { servers } = JSON.parse((await other.run("tools", "fx", "--json")).stdout);
  expect(servers[0].tools.map(({ asks }: { asks?: string }) => asks)).toEqual([
    '"destructive" of policy.tools.ask in ~/.config/sandpy/config.jsonc',
    undefined,
  ]);
});

test("asks all with --refresh, side by side, and stops them", async () => {
  using journal = createJournal();
  const slow = { journal: journal.path, slowStartMs: 500, tools: { a: {} } };
  define({ one: scripted(slow), two: scripted(slow), three: scripted(slow) });
  const started = performance.now();

  const { code, stdout } = await run("--refresh");

  expect(performance.now() - started).toBeLessThan(1500);
  expect([code, stdout.match(/1 tool, listed just now/g)?.length]).toEqual([0, 3]);
  await until(() => livingWith(journal.path).length === 0);
});

describe("a server that fails", () => {
  test.each([
    [["--refresh"], 0],
    [["--refresh", "broken", "fx"], 6],
    [["broken", "fx"], 6],
    [["gone", "fx"], 6],
    [["off", "fx"], 6],
  ] as const)("hides no other: %p ends with %d", async (argv, code) => {
    define({
      fx: scripted({ tools: { a: {} } }),
      broken: scripted({ bootExit: 3, stderr: "no \u001b[31mluck" }),
      off: { ...scripted({}), disabled: true },
    });

    const ended = await run(...argv);

    expect(ended.code).toBe(code);
    expect(ended.stdout).toContain("fx: 1 tool");
    const [wanted] = argv.filter((word) => !word.startsWith("-"));
    expect(ended.stderr).toContain(JSON.stringify(wanted ?? "broken"));
    expect(ended.stderr).not.toContain("\u001b");
  });

  test("is told with its reason in JSON", async () => {
    define({ fx: scripted({ tools: { a: {} } }), broken: { command: "/nowhere/x" } });

    const { code, stdout, stderr } = await run("fx", "broken", "--json");

    expect([code, stderr]).toEqual([6, ""]);
    expect(JSON.parse(stdout)).toEqual({
      servers: [
        {
          name: "fx",
          alias: "fx",
          listed: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          info: { name: "scripted", version: "1" },
          tools: [{ name: "a", alias: "a", description: "does a", inputSchema: { type: "object" } }],
          error: null,
        },
        {
          name: "broken",
          alias: "broken",
          listed: null,
          info: null,
          tools: null,
          error: {
            code: "UPSTREAM_UNREACHABLE",
            message: 'server "broken" could not be started: the command "/nowhere/x" does not exist',
            hint: 'Correct its definition "broken" in ~/MCPs/all.json.',
          },
        },
      ],
      problems: [],
    });
  });

  test("keeps what was known of it", async () => {
    const command = join(home, "server.sh");
    const write = (line: string) => writeFileSync(command, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    write(`exec ${process.execPath} ${SCRIPTED} '{"tools":{"a":{}}}'`);
    define({ fx: { command } });
    await run("fx");
    write("exit 7");

    const { code, stdout, stderr } = await run("fx", "--refresh");

    expect([code, stdout]).toEqual([6, "fx: 1 tool, listed just now\n  a  does a\n"]);
    expect(stderr).toContain("exited with code 7");
  });
});

test("ends by a signal while a server does not answer, and leaves nothing behind", async () => {
  using journal = createJournal();
  define({ fx: scripted({ dead: true, journal: journal.path }) });
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: process.env["PATH"] ?? "" });
  const running = world.run("tools", "fx");
  await until(() => journal.lines().includes("boot"));

  await world.signal("SIGINT");

  expect((await running).code).toBe(130);
  await until(() => livingWith(journal.path).length === 0);
});

test("prints megabytes through a pipe, whole", async () => {
  const tools = Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`tool_${index}`, {}]));
  define({ fx: scripted({ tools, padding: 3000 }) });
  const child = Bun.spawn([process.execPath, MAIN, "tools", "fx", "--json"], {
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const text = await new Response(child.stdout).text();

  expect(await child.exited).toBe(0);
  expect(text.length).toBeGreaterThan(2_000_000);
  expect(JSON.parse(text).servers[0].tools.length).toBe(700);
});

test.each([
  [0, "just now"],
  [59_000, "just now"],
  [60_000, "1 minute ago"],
  [3_599_000, "59 minutes ago"],
  [3_600_000, "1 hour ago"],
  [90_000_000, "1 day ago"],
  [864_000_000, "10 days ago"],
])("an age of %d ms is %p", (ms, words) => {
  expect(describeAge(ms)).toBe(words);
});

describe("--search", () => {
  test("says where to look where no tool is known", async () => {
    expect(await run("--search", "issue")).toEqual({
      code: 0,
      stdout: "No tool is known. For the servers that there are, type: sandpy servers\n",
      stderr: "",
    });
  });

  test("shows what fits best, and asks servers that nobody has asked yet", async () => {
    define({
      fx: scripted({ tools: { open_issue: {}, read_mail: {} } }),
      broken: { command: "/nowhere/x" },
    });

    const { code, stdout, stderr } = await run("--search", "issue");

    expect([code, stdout]).toEqual([
      0,
      "SERVER  TOOL        DESCRIPTION\nfx      open_issue  does open_issue\n",
    ]);
    expect(stderr).toBe(
      "sandpy: not searched, since nobody has asked them for their tools: broken\nFor that, type: sandpy tools --refresh\n",
    );
    const json = JSON.parse((await run("--search", "issue", "fx", "--json")).stdout);
    expect([json.total, json.notSearched, json.tools.length]).toEqual([1, [], 1]);
    expect(json.tools[0]).toMatchObject({
      server: "fx",
      name: "open_issue",
      inputSchema: { type: "object" },
    });
    expect((await run("--search", "zzzzqqqq", "fx")).stdout).toStartWith('No tool fits "zzzzqqqq". ');
  });

  test.each([
    [["--search", "a", "nope"], 6, 'no server is called "nope"'],
    [["--search", "a", "fx", "fy"], 2, "--search looks through all servers, or through one"],
    [["--search", "a", "--refresh"], 2, "--search and --refresh exclude each other"],
  ] as const)("refuses %p", async (argv, code, message) => {
    define({ fx: scripted({ tools: { a: {} } }) });
    const ended = await run(...argv);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toContain(message);
  });
});
