import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { discover } from "../../src/discovery/discover.ts";
import type { JudgeOptions } from "../../src/discovery/judges/create-judges.ts";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";

const HOMES = join(import.meta.dir, "../fixtures/homes");

/** Discovery in one of the fake homes; its folder is left out of all places and texts. */
async function discoverIn(name: string, env: Record<string, string> = {}, options: JudgeOptions = {}) {
  const home = join(HOMES, name);
  const { servers, problems } = await discover(
    { ...loadConfig({ HOME: home, ...env }), projectDir: "/nowhere" },
    options,
  );
  const strip = (text: string) => text.replaceAll(`${home}/`, "");
  return {
    home,
    servers,
    problems: problems.map(({ where, message }) => `${strip(where)}: ${strip(message)}`),
  };
}

/** What a file that says nothing special gives. */
const DEFAULTS = {
  availability: { kind: "usable" },
  tools: { allow: undefined, deny: [] },
  startMs: undefined,
  callMs: undefined,
} as const;

function commandOf(transport: ServerDefinition["transport"]): string | undefined {
  return transport.kind === "stdio" ? transport.command : undefined;
}

function namesOf(servers: readonly { readonly name: string }[]): string[] {
  return servers.map(({ name }) => name);
}

function usableNamesOf(servers: readonly ServerDefinition[]): string[] {
  return namesOf(servers.filter(({ availability }) => availability.kind === "usable"));
}

test("reads every file of the state directory as people write them", async () => {
  const { home, servers, problems } = await discoverIn("plain", { TOKEN: "t-1" });
  const folder = join(home, "MCPs");

  expect(problems).toEqual([]);
  expect(servers.map(({ fingerprint: _, pin: _pin, sources: _sources, ...rest }) => rest)).toEqual([
    {
      name: "my-notes",
      alias: "my_notes",
      description: "Keeps notes",
      transport: {
        kind: "stdio",
        command: join(home, "bin/notes"),
        args: ["--port", "8080", "true"],
        env: { TOKEN: "t-1", RETRIES: "3", DEBUG: "false" },
        cwd: join(folder, "data"),
      },
      ...DEFAULTS,
      origins: [{ client: "sandpy", scope: "user", file: join(folder, "a.json"), key: "my-notes" }],
    },
    {
      name: "local",
      alias: "local",
      description: "",
      transport: { kind: "stdio", command: join(folder, "servers/run.sh"), args: [], env: {}, cwd: home },
      ...DEFAULTS,
      origins: [{ client: "sandpy", scope: "user", file: join(folder, "a.json"), key: "local" }],
    },
    {
      name: "line",
      alias: "line",
      description: "",
      transport: { kind: "stdio", command: "npx", args: ["-y", "@scope/line"], env: {}, cwd: undefined },
      ...DEFAULTS,
      origins: [{ client: "sandpy", scope: "user", file: join(folder, "a.json"), key: "line" }],
    },
    {
      name: "variable",
      alias: "variable",
      description: "",
      transport: { kind: "stdio", command: join(home, "bin/x"), args: [], env: {}, cwd: home },
      ...DEFAULTS,
      origins: [{ client: "sandpy", scope: "user", file: join(folder, "a.json"), key: "variable" }],
    },
    {
      name: "files",
      alias: "files",
      description: "",
      transport: {
        kind: "stdio",
        command: "npx",
        args: ["-y", "server-files", "/data"],
        env: {},
        cwd: undefined,
      },
      ...DEFAULTS,
      origins: [{ client: "sandpy", scope: "user", file: join(folder, "b-windows.json"), key: "files" }],
    },
  ]);
});

test("finds nothing, and no fault, where there is nothing", async () => {
  expect(await discoverIn("no-such-home")).toMatchObject({ servers: [], problems: [] });
});

test("reports each fault at its place and loads the rest", async () => {
  const { servers, problems } = await discoverIn("faulty");
  const program = "expected the program to start, as text";

  expect(servers.map(({ name, transport }) => [name, commandOf(transport)])).toEqual([
    ["remote", undefined],
    ["bare url", undefined],
    ["twice", "second"],
    ["good", "x"],
  ]);
  expect(problems).toEqual([
    'MCPs/a-broken.json:4:5: is not valid JSON: expected a comma, found "\\"two\\""',
    "MCPs/b-entries.json:14:14: mcpServers.twice: is defined more than once; the last definition is used",
    "MCPs/b-entries.json:3:13: mcpServers.text: expected an object in braces",
    "MCPs/b-entries.json:4:13: mcpServers.list: expected an object in braces",
    `MCPs/b-entries.json:5:16: mcpServers.nothing.command: ${program}`,
    "MCPs/b-entries.json:6:27: mcpServers.blank.command: expected the program to start, found empty text",
    "MCPs/b-entries.json:7:39: mcpServers.args.args: expected a list of text in brackets",
    "MCPs/b-entries.json:8:45: mcpServers.arg.args[1]: expected text",
    "MCPs/b-entries.json:9:37: mcpServers.env.env: expected an object in braces",
    'MCPs/b-entries.json:12:25: mcpServers.socket.type: expected "http" or "sse", found "websocket"',
    'MCPs/b-entries.json:13:9: mcpServers[""]: expected a name for the server, found empty text',
    'MCPs/c-other-key.json: has no "mcpServers": expected {"mcpServers": {"name": {…}}}',
    "MCPs/d-list.json:1:17: mcpServers[0]: expected an object in braces",
    'MCPs/e-array.json: has no "mcpServers": expected {"mcpServers": {"name": {…}}}',
    'MCPs/f-template.json:1:53: is not valid JSON: expected a key in double quotes, found "{"; it looks like a template, which is not filled in',
    "MCPs/g-latin1.json: cannot be read: it is not UTF-8 text",
    'MCPs/h-cut.json:1:34: is not valid JSON: expected a closing ", found "\\"x"',
  ]);
});

test("lists what is switched off with the reason", async () => {
  const { servers, problems } = await discoverIn("switches");

  expect(servers.map(({ name, availability }) => [name, availability])).toEqual([
    ["off", { kind: "disabled", reason: '"disabled" is true' }],
    ["not-on", { kind: "disabled", reason: '"enabled" is false' }],
    ["remote-off", { kind: "disabled", reason: '"disabled" is true' }],
    ["on", { kind: "usable" }],
  ]);
  expect(problems).toEqual([]);
});

describe("the same name in two files", () => {
  test("is one server where the definitions agree, and two where they differ", async () => {
    const { servers, problems } = await discoverIn("clash");

    expect(servers.map(({ name, alias, transport }) => [name, alias, commandOf(transport)])).toEqual([
      ["git", "git", "git-a"],
      ["same", "same", "s"],
      ["git@work", "git_work_2", "z"],
      ["git@work-2", "git_work_2_2", "git-b"],
      ["same-2", "same_2", "s"],
      ["git-work", "git_work", "y"],
    ]);
    expect(problems).toEqual([
      'MCPs/work.json: "git" is a different server in MCPs/home.json; this one is called "git@work-2"',
    ]);
  });

  test("belongs to the file of MCP_SERVERS_CONFIG first", async () => {
    const { servers } = await discoverIn("clash", { MCP_SERVERS_CONFIG: join(HOMES, "clash/explicit.json") });

    expect(
      servers
        .filter(({ origins }) => origins[0].key === "git")
        .map(({ name, transport }) => [name, commandOf(transport)]),
    ).toEqual([
      ["git", "git-explicit"],
      ["git@home", "git-a"],
      ["git@work-2", "git-b"],
    ]);
  });
});

test("reports a file of MCP_SERVERS_CONFIG that does not exist", async () => {
  const { problems } = await discoverIn("switches", { MCP_SERVERS_CONFIG: "~/nowhere.json" });

  expect(problems).toEqual(["nowhere.json: does not exist: expected the file that MCP_SERVERS_CONFIG names"]);
});

describe("the bridge itself", () => {
  const reason = "is this program itself and is left out: it would start itself without end";

  test("is left out, whatever it is called", async () => {
    const { servers, problems } = await discoverIn("self");

    expect(usableNamesOf(servers)).toEqual(["other", "folder", "clone", "script", "argument"]);
    expect(servers[0]?.availability).toEqual({ kind: "self" });
    expect(problems).toEqual(
      ["by-name", "by-path", "by-npx", "by-scope", "by-exec", "by-env", "windows"].map(
        (name) => `MCPs/all.json: "${name}" ${reason}`,
      ),
    );
  });

  test("is left out behind a link and on PATH", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandpy-self-"));
    try {
      writeFileSync(join(folder, "real"), "");
      symlinkSync(join(folder, "real"), join(folder, "py"));
      const servers = {
        link: { command: join(folder, "py") },
        bare: { command: "py" },
        absent: { command: "q" },
      };
      writeFileSync(join(folder, "all.json"), JSON.stringify({ mcpServers: servers }));
      const config = loadConfig({ HOME: folder, PATH: `/bin:${folder}`, MCP_BRIDGE_STATE_DIR: folder });

      const found = await discover(config, { selfPath: join(folder, "real") });

      expect(usableNamesOf(found.servers)).toEqual(["absent"]);
      expect(found.problems.map(({ message }) => message)).toEqual([`"link" ${reason}`, `"bare" ${reason}`]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("may stay where the user allows it", async () => {
    const { servers, problems } = await discoverIn("self", { MCP_BRIDGE_ALLOW_SELF_SERVER: "1" });

    expect([usableNamesOf(servers).length, problems]).toEqual([12, []]);
  });
});

describe("a file that cannot be a configuration", () => {
  test.each([
    ["a folder", (path: string) => mkdirSync(path), "cannot be read: it is not a file"],
    ["a named pipe", (path: string) => Bun.spawnSync(["mkfifo", path]), "cannot be read: it is not a file"],
    [
      "a file that is too large",
      (path: string) => writeFileSync(path, Buffer.alloc(8 * 1024 ** 2 + 1, " ")),
      "cannot be read: it has 8388609 bytes, more than the 8388608 that a configuration may have",
    ],
  ])("is reported and does not stop the others: %s", async (_case, create, message) => {
    const folder = mkdtempSync(join(tmpdir(), "sandpy-odd-"));
    try {
      cpSync(join(HOMES, "switches/MCPs/all.json"), join(folder, "good.json"));
      create(join(folder, "bad.json"));

      const found = await discover(loadConfig({ HOME: folder, MCP_BRIDGE_STATE_DIR: folder }));

      expect(found.problems).toEqual([{ where: join(folder, "bad.json"), message }]);
      expect(usableNamesOf(found.servers)).toEqual(["on"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("is a state directory that is a file", async () => {
    const file = join(HOMES, "plain/MCPs/readme.txt");

    const found = await discover(loadConfig({ HOME: "/", MCP_BRIDGE_STATE_DIR: file }));

    expect(relative(HOMES, found.problems[0]?.where ?? "")).toBe("plain/MCPs/readme.txt");
    expect(found.problems[0]?.message).toStartWith("cannot be listed: it is not a folder");
  });
});
