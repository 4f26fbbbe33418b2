import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { discover } from "../../../src/discovery/discover.ts";
import { renderPreview } from "../../../src/discovery/install/preview.ts";
import { InstallRig } from "./rig.ts";

let rig: InstallRig;
beforeEach(() => {
  rig = new InstallRig();
});
afterEach(() => rig.close());

const prepare = (id: string) => rig.prepare(id, { move: true });
const move = (id: string) => rig.install(id, { move: true });
const uninstall = async (id: string) => (await rig.uninstall(id)).back;

const own = (id: string) => join(rig.machine.home, `MCPs/${id}.json`);
/** All servers as they would be started, without who says so. */
async function meanings(): Promise<readonly string[]> {
  const { servers } = await discover(rig.config);
  return servers
    .filter(({ availability }) => availability.kind !== "self")
    .map((server) => rig.machine.render(server))
    .sort();
}

const CURSOR = `{
  "mcpServers": {
    // the forge
    "github": {
      "command": "npx", // runner
      "args": ["-y", "server-github"],
      "env": { "GITHUB_TOKEN": "ghp_0123456789abcdef", "PLAIN": "\${env:MISSING}" }
    },
    "remote": { "url": "https://x.example.com/mcp", "headers": { "X-Key": "inline-secret" }, "timeout": 500 },
    "off": { "command": "x", "disabled": true },
    "asks": { "command": "y", "env": { "K": "\${input:key}" } },
    "script": { "command": "./run.sh" },
    "broken": { "args": [] },
    "last": { "command": "z" },
  },
}
`;
const CODEX = `[mcp_servers.notes] # mine
command = "npx"
args = ["notes"]
tool_timeout_sec = 12.5
startup_timeout_sec = 3

[mcp_servers.notes.env]
KEY = "v"

# text, not a variable
[mcp_servers.literal]
command = "z"
env = { A = "\${HOME}" }

[mcp_servers.dated]
command = "d"
since = 2026-01-01
`;
const OPENCODE =
  '{\n  "mcp": {\n    "a": { "type": "local", "command": ["x", "y"], "environment": { "A": "{env:HOME}" }, "timeout": 9000 }\n  },\n  "tools": { "b_*": false }\n}\n';

describe("other servers", () => {
  test.each([
    ["cursor", ".cursor/mcp.json", CURSOR, ["github", "remote", "last"], ["off", "asks", "script", "broken"]],
    ["codex", ".codex/config.toml", CODEX, ["notes"], ["literal", "dated"]],
    ["opencode", ".config/opencode/opencode.json", OPENCODE, ["a"], []],
  ] as const)(
    "of %s mean the same where they are moved to, and come back",
    async (id, path, text, moved, stay) => {
      const file = rig.machine.write(`home/${path}`, text);
      const before = await meanings();

      const prepared = await move(id);

      expect(prepared.moved).toEqual([...moved]);
      const left = prepared.neighbours.filter(({ reason }) => reason !== undefined);
      expect(left.map(({ name }) => name)).toEqual([...stay]);
      expect(await meanings()).toEqual(before);
      expect(statSync(own(id)).mode & 0o777).toBe(0o600);
      for (const name of moved) expect(readFileSync(file, "utf8")).not.toContain(`${name}"`);

      expect((await move(id)).changes).toEqual([]);
      expect(await uninstall(id)).toMatchObject({ back: [...moved], stays: [] });
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(existsSync(own(id))).toBe(false);
      expect(await meanings()).toEqual(before);
    },
  );

  test("stay for a reason", async () => {
    rig.machine.write("home/.cursor/mcp.json", CURSOR);
    rig.machine.write("home/.codex/config.toml", CODEX);
    const reasons = async (id: string) =>
      (await prepare(id)).neighbours.flatMap(({ name, reason }) =>
        reason === undefined ? [] : [`${name}: ${rig.machine.strip(reason)}`],
      );

    expect([...(await reasons("cursor")), ...(await reasons("codex"))]).toEqual([
      "off: it is switched off there",
      'asks: it needs an answer to the prompt "key", which only Cursor has',
      "script: it would mean something else in ~/MCPs/cursor.json",
      "broken: expected the program to start, as text",
      "literal: it would mean something else in ~/MCPs/codex.json",
      "dated: it has values that JSON does not know",
    ]);
  });

  test("are moved a hundred at a time", async () => {
    const servers = Object.fromEntries(
      Array.from({ length: 102 }, (_, at) => [`s${at}`, { command: `c${at}` }]),
    );
    rig.machine.write("home/.cursor/mcp.json", { mcpServers: servers });

    const first = await move("cursor");
    expect([first.moved.length, first.neighbours.at(-1)?.reason]).toEqual([
      100,
      "only 100 are moved at a time; type the same again for more",
    ]);
    expect((await move("cursor")).moved).toEqual(["s100", "s101"]);
    expect((await uninstall("cursor"))?.back.length).toBe(102);
  });

  test("stay where a list of the client switches them off", async () => {
    rig.machine.write("home/.gemini/settings.json", {
      mcpServers: { a: { command: "x" }, b: { command: "y" } },
      mcp: { excluded: ["a"] },
    });

    const { moved, neighbours } = await move("gemini");
    expect(moved).toEqual(["b"]);
    expect(neighbours[0]?.reason).toStartWith("it is switched off: ");
  });

  test("come back as they were written, also when the file has changed", async () => {
    const file = rig.machine.write("home/.cursor/mcp.json", CURSOR);
    await move("cursor");
    writeFileSync(file, readFileSync(file, "utf8").replace('"broken": { "args": [] },', ""));
    await uninstall("cursor");

    const text = readFileSync(file, "utf8");
    expect(text).toContain('"command": "npx", // runner');
    expect(text).not.toContain("sandpy");
    expect(text).not.toContain("broken");
    expect(existsSync(own("cursor"))).toBe(false);
  });

  test("stay in ~/MCPs when they were changed or deleted there", async () => {
    rig.machine.write("home/.cursor/mcp.json", CURSOR);
    await move("cursor");
    const moved = JSON.parse(readFileSync(own("cursor"), "utf8"));
    moved.mcpServers.github.args.push("--new");
    delete moved.mcpServers.last;
    writeFileSync(own("cursor"), JSON.stringify(moved, undefined, 2));
    writeFileSync(
      join(rig.machine.home, ".cursor/mcp.json"),
      '{"mcpServers": {"sandpy": {"command": "/opt/tools/sandpy", "args": ["serve"]}}}',
    );

    const back = await uninstall("cursor");

    expect(back?.back).toEqual(["remote"]);
    expect(back?.stays.map(({ name, reason }) => `${name}: ${rig.machine.strip(reason)}`)).toEqual([
      "github: it was changed in ~/MCPs/cursor.json since",
      "last: it is no longer in ~/MCPs/cursor.json",
    ]);
    expect(Object.keys(JSON.parse(readFileSync(own("cursor"), "utf8")).mcpServers)).toEqual(["github"]);
  });

  test("never take the place of one that ~/MCPs has, and its file keeps its remarks", async () => {
    rig.machine.write("home/.cursor/mcp.json", CURSOR);
    rig.machine.write(
      "home/MCPs/cursor.json",
      '// mine\n{ "mcpServers": { "github": { "command": "mine" } } }\n',
    );

    const { moved, neighbours } = await move("cursor");

    expect(moved).toEqual(["remote", "last"]);
    expect(rig.machine.strip(neighbours[0]?.reason ?? "")).toBe(
      "~/MCPs/cursor.json has another server of that name",
    );
    await uninstall("cursor");
    expect(readFileSync(own("cursor"), "utf8")).toBe(
      '// mine\n{ "mcpServers": { "github": { "command": "mine" } } }\n',
    );
  });
});

test("a preview shows each change and no secret", async () => {
  rig.machine.write("home/.cursor/mcp.json", CURSOR);
  const { changes } = await prepare("cursor");
  const shown = (await Promise.all(changes.map((change) => renderPreview(change, change.file.path)))).join(
    "",
  );

  expect(shown).toMatch(/^--- .*MCPs\/cursor\.json/m);
  expect(shown).toContain('+    "sandpy": {');
  expect(shown).toContain('-      "command": "npx", // runner');
  expect(shown).not.toMatch(/ghp_|inline-secret/);
  expect(existsSync(own("cursor"))).toBe(false);
});
