// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import type { Discovery } from "../../src/discovery/server-definition.ts";
import { createStamp } from "../../src/discovery/stamp.ts";
import { Machine } from "./helpers.ts";

const CURSOR = "home/.cursor/mcp.json";
const WINDSURF = "home/.codeium/windsurf/mcp_config.json";
const CLAUDE = "home/.claude.json";
const PROJECT_CURSOR = "project/.cursor/mcp.json";

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});
afterEach(() => rmSync(machine.root, { recursive: true }));

/** Writes the servers of one file. */
function define(path: string, mcpServers: Readonly<Record<string, unknown>>): string {
  return machine.write(path, { mcpServers });
}

/** Each server with its state, its command or URL, and the clients that define it. */
function show({ servers }: Discovery): string[] {
  return servers.map(({ name, availability: { kind }, transport, origins }) => {
    const what = transport.kind === "stdio" ? transport.command : transport.url;
    return `${name} ${kind} ${what} [${origins.map(({ client, key }) => `${client}:${key}`).join(", ")}]`;
  });
}

describe("the same server in several files", () => {
  test("is one with all its origins, under the first name", async () => {
    define(CLAUDE, { gh: { command: "npx", args: ["-y", "github"], env: { T: "1" } } });
    define(CURSOR, { github: { command: "npx github@latest", env: { T: "1" } } });
    define(WINDSURF, { web: { serverUrl: "https://a.example/mcp/" } });
    define("home/.copilot/mcp-config.json", { web2: { type: "http", url: "https://a.example/mcp" } });

    expect(show(await machine.discover())).toEqual([
      "gh usable npx [Claude Code:gh, Cursor:github]",
      "web2 usable https://a.example/mcp [Copilot CLI:web2, Windsurf:web]",
    ]);
  });

  test("stays two under two names where its variables differ, as two accounts do", async () => {
    define(CLAUDE, { work: { command: "gh", env: { T: "1" } } });
    define(CURSOR, { home: { command: "gh", env: { T: "2" } } });

    expect(show(await machine.discover())).toHaveLength(2);
  });

  test("stays two where one file has it under two names", async () => {
    define(CURSOR, { one: { command: "x" }, two: { command: "x" } });
    define(WINDSURF, { two: { command: "x" } });

    expect(show(await machine.discover())).toEqual([
      "one usable x [Cursor:one]",
      "two usable x [Cursor:two, Windsurf:two]",
    ]);
  });

  test("is taken from the file where it may be used", async () => {
    define(CLAUDE, { s: { command: "x", env: { T: "${NOT_SET}" } } });
    define(CURSOR, { s: { command: "x", disabled: true } });
    define(WINDSURF, { s: { command: "x", args: [] } });

    expect(show(await machine.discover())).toEqual(["s usable x [Windsurf:s, Claude Code:s, Cursor:s]"]);
  });
});

describe("different servers with one name", () => {
  test("stay apart, whatever is newer", async () => {
    const files = [
      define(CLAUDE, { s: { command: "a" } }),
      define(CURSOR, { s: { command: "b" } }),
      define(WINDSURF, { s: { command: "c" }, "s@cursor": { command: "d" } }),
    ];
    const expected = [
      "s usable a [Claude Code:s]",
      "s@cursor-2 usable b [Cursor:s]",
      "s@windsurf usable c [Windsurf:s]",
      "s@cursor usable d [Windsurf:s@cursor]",
    ];

    expect(show(await machine.discover())).toEqual(expected);
    for (const [index, file] of files.entries()) utimesSync(file, 1000 - index, 1000 - index);
    expect(show(await machine.discover())).toEqual(expected);
  });

  test("leave the name to the one that may be used", async () => {
    define(CLAUDE, { s: { command: "a", disabled: true } });
    define(CURSOR, { s: { command: "b" } });

    expect(show(await machine.discover())).toEqual([
      "s@claude-code disabled a [Claude Code:s]",
      "s usable b [Cursor:s]",
    ]);
  });
});

describe("within one client", () => {
  test("the project's definition hides the user's", async () => {
    define(CURSOR, { s: { command: "user" }, same: { command: "x" } });
    define(PROJECT_CURSOR, { s: { command: "project" }, same: { command: "x" } });

    expect(show(await machine.discover())).toEqual([
      "s usable project [Cursor:s]",
      "same usable x [Cursor:same, Cursor:same]",
    ]);
  });

  test("an off above holds for what is below", async () => {
    define(CURSOR, { s: { command: "x" } });
    define(PROJECT_CURSOR, { s: { command: "x", disabled: true } });

    expect(show(await machine.discover())).toEqual(["s disabled x [Cursor:s, Cursor:s]"]);
  });

  test("the nearest folder of the project comes first", async () => {
    mkdirSync(join(machine.project, ".git"));
    define(PROJECT_CURSOR, { s: { command: "root" }, r: { command: "r" } });
    define("project/a/.cursor/mcp.json", { s: { command: "near" } });
    define(".cursor/mcp.json", { beyond: { command: "never" } });

    const found = await machine.discover({}, { projectDir: join(machine.project, "a/b") });

    expect(show(found)).toEqual(["s usable near [Cursor:s]", "r usable r [Cursor:r]"]);
    expect(found.servers.map(({ origins }) => machine.strip(origins[0].folder ?? ""))).toEqual(["./a", "."]);
  });

  test("without a repository only the folder itself is the project", async () => {
    define(PROJECT_CURSOR, { s: { command: "x" } });

    expect(show(await machine.discover({}, { projectDir: join(machine.project, "a") }))).toEqual([]);
  });
});

test("two servers of one name in one list are both there", async () => {
  machine.write(
    "home/.continue/config.yaml",
    "mcpServers:\n  - {name: s, command: a}\n  - {name: s, command: b}\n",
  );

  expect(show(await machine.discover())).toEqual([
    "s usable a [Continue:s]",
    "s@continue usable b [Continue:s]",
  ]);
});

describe("a project that nobody trusts", () => {
  const untrusted = { trustProject: false };

  test("hides nothing of the user's and takes no name", async () => {
    define(CURSOR, { s: { command: "user" } });
    define(PROJECT_CURSOR, { s: { command: "project" } });
    define("project/.mcp.json", { s: { command: "third" } });

    expect(show(await machine.discover({}, untrusted))).toEqual([
      "s@claude-code untrusted third [Claude Code:s]",
      "s@cursor untrusted project [Cursor:s]",
      "s usable user [Cursor:s]",
    ]);
  });

  test("does not become usable by looking like a server of the user's", async () => {
    define(CURSOR, { s: { command: "npx", args: ["-y", "x"] } });
    define("project/.mcp.json", { s: { command: "./evil/npx", args: ["-y", "x"] } });

    expect(show(await machine.discover({}, untrusted))).toEqual(["s usable npx [Cursor:s, Claude Code:s]"]);
  });

  test("switches nothing on", async () => {
    define("home/.gemini/settings.json", { s: { command: "x", enabled: false } });
    define("project/.gemini/settings.json", { s: { enabled: true } });

    expect(show(await machine.discover({}, untrusted))).toEqual(["s disabled x [Gemini CLI:s]"]);
  });
});

describe("an entry that only switches", () => {
  test("of our own files switches a server of any client", async () => {
    define(CURSOR, { s: { command: "x" }, t: { command: "y", disabled: true } });
    define("home/MCPs/off.json", {
      s: { disabled: true },
      t: { enabled: true },
      unknown: { disabled: true },
    });

    const found = await machine.discover();

    expect(show(found)).toEqual(["s disabled x [Cursor:s]", "t usable y [Cursor:t]"]);
    expect(found.servers[0]?.availability).toEqual({
      kind: "disabled",
      reason: `"disabled" is true in ${join(machine.home, "MCPs/off.json")}`,
    });
  });

  test("of a client switches that client's servers only", async () => {
    define(PROJECT_CURSOR, { s: { disabled: true } });
    define(CURSOR, { s: { command: "x" } });
    define(WINDSURF, { w: { command: "w" }, s: { command: "z" } });

    expect(show(await machine.discover())).toEqual([
      "s@cursor disabled x [Cursor:s]",
      "w usable w [Windsurf:w]",
      "s usable z [Windsurf:s]",
    ]);
  });
});

test("a server that our own files switch off stays off, although another client has it", async () => {
  define("home/MCPs/a.json", { s: { command: "x", disabled: true } });
  define(CURSOR, { s: { command: "x" } });

  expect(show(await machine.discover())).toEqual(["s disabled x [sandpy:s, Cursor:s]"]);
});

describe("where the project is the home", () => {
  test("files are read once, as the user's own", async () => {
    define(CURSOR, { s: { command: "x" } });
    define(CLAUDE, { c: { command: "c" } });
    const link = join(machine.root, "link");
    symlinkSync(machine.home, link);

    for (const projectDir of [machine.home, `${machine.home}/`]) {
      const { servers } = await machine.discover({ MCP_BRIDGE_TRUST_PROJECT: "0" }, { projectDir });

      expect(servers.map(({ name, origins }) => [name, origins.map(({ scope }) => scope)])).toEqual([
        ["c", ["user"]],
        ["s", ["user"]],
      ]);
    }
  });

  test("a home that is a repository makes no project of its folders", async () => {
    mkdirSync(join(machine.home, ".git"));
    define("home/.mcp.json", { s: { command: "x" } });
    mkdirSync(join(machine.home, "code"));

    expect(show(await machine.discover({}, { projectDir: join(machine.home, "code") }))).toEqual([]);
  });
});

describe("MCP_SERVERS_CONFIG", () => {
  test.each([
    ['{"mcpServers": {"s": {"command": "x"}}}'],
    ['{"s": {"transport": "stdio", "command": "x"}}'],
    ['[{"name": "s", "command": "x"}]'],
  ])("may hold the text itself: %s", async (text) => {
    const { servers, problems } = await machine.discover({ MCP_SERVERS_CONFIG: text });

    expect(problems).toEqual([]);
    expect(servers.map(({ name, origins }) => [name, origins[0]])).toEqual([
      ["s", { client: "MCP_SERVERS_CONFIG", scope: "explicit", file: "MCP_SERVERS_CONFIG", key: "s" }],
    ]);
  });

  test("says what is wrong with the text", async () => {
    const { problems } = await machine.discover({ MCP_SERVERS_CONFIG: '{"mcpServers": {' });

    expect(problems.map(({ where }) => where)).toEqual(["MCP_SERVERS_CONFIG:1:17"]);
  });
});

describe("the fingerprint of a definition", () => {
  const fingerprint = async (env: Readonly<Record<string, string>>) =>
    (await machine.discover(env)).servers.map((server) => server.fingerprint);

  test("stays the same with another token in an argument", async () => {
    define(CURSOR, { s: { command: "x", args: ["--token", "${env:TOKEN}"] } });

    expect(await fingerprint({ TOKEN: "1" })).toEqual(await fingerprint({ TOKEN: "2" }));
  });

  test.each([
    ["a program", CURSOR, { s: { command: "${env:TOKEN}" } }],
    ["a URL", CURSOR, { s: { url: "https://${env:TOKEN}.example" } }],
  ])("changes with %s that a variable names", async (_what, path, entry) => {
    define(path, entry);

    expect(await fingerprint({ TOKEN: "1" })).not.toEqual(await fingerprint({ TOKEN: "2" }));
  });

  test("changes with a file that is put into an argument", async () => {
    const opencode = { mcp: { s: { type: "local", command: ["x", "{file:arg.txt}"] } } };
    machine.write("project/opencode.json", opencode);
    machine.write("project/arg.txt", "one");
    const before = await fingerprint({});
    machine.write("project/arg.txt", "two");

    expect(await fingerprint({})).not.toEqual(before);
  });
});

test("a file of variables that appears is noticed", async () => {
  define(CURSOR, { s: { command: "x", envFile: "../.env" } });
  const config = { ...loadConfig({ HOME: machine.home }), projectDir: machine.project };
  const { valueFiles } = await machine.discover();
  const stamp = createStamp(config, () => valueFiles ?? []);
  const before = await stamp();
  machine.write("home/.env", "A=1");

  expect(await stamp()).not.toBe(before);
  expect((await machine.discover()).servers.map((server) => machine.render(server))).toEqual(["s: x | A=1"]);
});
