import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliWorld } from "../helpers/cli-world.ts";

let home: string;
let world: CliWorld;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-servers-"));
  world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: process.env["PATH"] ?? "" });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function define(servers: Readonly<Record<string, unknown>>): void {
  mkdirSync(join(home, "MCPs"), { recursive: true });
  writeFileSync(join(home, "MCPs/all.json"), JSON.stringify({ mcpServers: servers }));
}

test("says so when there are none", async () => {
  expect(await world.run("servers")).toEqual({
    code: 0,
    stdout: expect.stringContaining(
      `Define some in ${join(home, "MCPs/servers.json")}, such as\n\n  {"mcpServers"`,
    ),
    stderr: "",
  });
});

test("lists each with its names, state, tools, command and file, and says why one is not used", async () => {
  define({ "my-notes": { command: "notes", args: ["--dir", "a b"] }, again: { command: "sandpy" } });

  const { code, stdout, stderr } = await world.run("servers");

  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      "NAME      ALIAS     STATE   TOOLS  SERVER             FROM",
      "my-notes  my_notes  usable  -      notes --dir 'a b'  ~/MCPs/all.json (sandpy)",
      "again     again     self    -      sandpy             ~/MCPs/all.json (sandpy)",
      "",
      'again is this bridge itself, which would start itself without end. Remove "again" from ~/MCPs/all.json.',
      "",
    ].join("\n"),
  );
  expect(stderr).toBe(""); // no fault
  expect((await new CliWorldIn(home).run("servers", "--all")).stderr).toContain(
    '"again" is this program itself',
  );
  expect(world.events).toEqual([]); // no bridge, so no engine was looked for
});

test("prints the same as JSON, without values of variables", async () => {
  define({
    a: {
      command: "x",
      args: ["--api-key", "k-123", "--verbose"],
      env: { TOKEN: "secret-value" },
      description: "d",
    },
  });

  const { stdout } = await world.run("servers", "a", "--json");

  expect(stdout).not.toContain("secret-value");
  expect(JSON.parse(stdout)).toEqual({
    servers: [
      {
        name: "a",
        alias: "a",
        description: "d",
        transport: {
          kind: "stdio",
          command: "x",
          args: ["--api-key", "***", "--verbose"],
          cwd: null,
          env: ["TOKEN"],
        },
        origins: [{ client: "sandpy", scope: "user", file: join(home, "MCPs/all.json"), key: "a" }],
        state: "usable",
        reason: null,
        remedy: null,
        tools: null,
      },
    ],
    problems: [],
  });
});

test("prints names alone, for completions", async () => {
  define({ b: { command: "x" }, a: { command: "y" } });
  expect((await world.run("servers", "--names")).stdout).toBe("b\na\n");
});

test("selects by name or alias, and knows what was meant", async () => {
  define({ "my-notes": { command: "notes" }, other: { command: "x" } });
  expect((await world.run("servers", "my_notes", "--names")).stdout).toBe("my-notes\n");

  const { code, stderr } = await new CliWorldIn(home).run("servers", "my-note");
  expect([code, stderr]).toEqual([6, 'sandpy: no server is called "my-note"\nDid you mean "my-notes"?\n']);
});

test("shows no control character of a stranger's file to the terminal", async () => {
  define({ "a\u001b[2J": { command: "x\u202e", args: ["\u0007"] } });

  const { stdout, stderr } = await world.run("servers");

  const shown = [...(stdout + stderr)].filter((character) => character !== "\n");
  expect(shown.filter((character) => /[\p{Cc}\p{Cf}]/u.test(character))).toEqual([]);
  expect(stdout).toContain("a\\u{1b}[2J");
});

test("reports faults of files on stderr, after the list", async () => {
  define({ a: { command: "x" } });
  writeFileSync(join(home, "MCPs/broken.json"), "{");

  const { code, stdout, stderr } = await world.run("servers");

  expect([code, stdout.split("\n").length]).toEqual([0, 3]);
  expect(stderr).toStartWith(`sandpy: ${join(home, "MCPs/broken.json")}:1:2: is not valid JSON`);
});

test("starts nothing", async () => {
  const marker = join(home, "started");
  define({ a: { command: "/bin/sh", args: ["-c", `echo > ${marker}`] } });

  await world.run("servers");
  await new CliWorldIn(home).run("servers", "--json");

  expect(existsSync(marker)).toBe(false);
});

describe("a secret in a command line or URL", () => {
  test.each([
    [["--token", "abc"], "--token ***"],
    [["--token=abc"], "--token=***"],
    [["-H", "Authorization: Bearer abc"], "-H 'Authorization: ***'"],
    [["ghp_0123456789abcdef"], "***"],
    [["A1b2C3d4E5f6G7h8I9j0K1l2"], "***"],
    [["https://u:p@a.example/x?api_key=1&page=2"], "'https://***@a.example/x?api_key=***&page=2'"],
    [
      ["@modelcontextprotocol/server-filesystem", "/home/me/notes-2026"],
      "@modelcontextprotocol/server-filesystem /home/me/notes-2026",
    ],
    [["--port", "8080", "--dir=/a/b"], "--port 8080 --dir=/a/b"],
  ])("of %j is not shown", async (args, expected) => {
    define({ a: { command: "x", args } });
    expect((await world.run("servers")).stdout).toMatch(new RegExp(`x ${RegExp.escape(expected)} +~/MCPs`));
  });

  test("that was filled in from a variable is shown by its name", async () => {
    world.env["MY_TOKEN"] = "plainword";
    define({ a: { command: "x", args: ["--with", "plainword"] } });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what the user reads
    expect((await world.run("servers")).stdout).toContain("x --with ${MY_TOKEN}");
  });
});

class CliWorldIn extends CliWorld {
  constructor(folder: string) {
    super();
    Object.assign(this.env, { HOME: folder, PATH: process.env["PATH"] ?? "" });
  }
}
