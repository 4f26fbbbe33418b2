import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CliWorld } from "../helpers/cli-world.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-install-cli-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function run(...argv: string[]) {
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: "/nowhere" });
  return world.run("install", ...argv);
}

function write(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const TWO = '{\n  "mcpServers": {\n    "notes": { "command": "notes" }\n  }\n}\n';

test("writes into the clients that are here, goes on after one that fails, and says what stands beside", async () => {
  const cursor = write(".cursor/mcp.json", TWO);
  write(".gemini/settings.json", "{ broken");

  const { code, stdout, stderr } = await run("--command", "sandpy");

  expect(code).toBe(3);
  expect(stdout).toBe(
    "Cursor: added to ~/.cursor/mcp.json\nRestart the clients that run: they read their files at start.\n",
  );
  expect(stderr).toStartWith(`sandpy: Gemini CLI: "${home}/.gemini/settings.json:1:3" is not valid JSON: `);
  expect(stderr).toEndWith(
    'Cursor starts these itself, beside Sandpy: notes\nType "sandpy install --move cursor" to move them behind Sandpy, so that they are not loaded twice.\n',
  );
  expect(JSON.parse(readFileSync(cursor, "utf8")).mcpServers.sandpy.command).toBe("sandpy");
});

test("moves and brings back, and each a second time does nothing", async () => {
  const cursor = write(".cursor/mcp.json", TWO);

  expect((await run("cursor", "--move", "--command", "sandpy")).stdout).toContain(
    "  moved to ~/MCPs/cursor.json: notes\n",
  );
  expect(await run("cursor", "--move", "--command", "sandpy")).toEqual({
    code: 0,
    stdout: "Cursor: is there already (~/.cursor/mcp.json)\n",
    stderr: "",
  });
  expect((await run("--uninstall")).stdout).toBe(
    "Cursor: removed from ~/.cursor/mcp.json\n  moved back from ~/MCPs/cursor.json: notes\nRestart the clients that run: they read their files at start.\n",
  );
  expect(readFileSync(cursor, "utf8")).toBe(TWO);
  expect((await run("--uninstall")).stdout).toBe("Cursor: is not there (~/.cursor/mcp.json)\n");
});

test("shows what would change, and changes nothing", async () => {
  const { code, stdout } = await run("zed", "--dry-run", "--command", "sandpy");

  expect(code).toBe(0);
  expect(stdout).toStartWith(
    "Zed: would be added to ~/.config/zed/settings.json\n--- ~/.config/zed/settings.json\n+++ ~/.config/zed/settings.json\n@@ -0,0 +1,9 @@\n+{\n",
  );
  expect(existsSync(join(home, ".config"))).toBe(false);
});

test("lists the clients", async () => {
  write(".cursor/mcp.json", TWO);
  write(".codex/config.toml", '[mcp_servers.sandpy]\ncommand = "sandpy"\n');
  write(".gemini/settings.json", "{ broken");

  const { stdout } = await run("--list");
  expect(stdout).toMatch(/^CLIENT +HERE +SANDPY +FILE\n/);
  expect(stdout).toMatch(/^cursor +yes +- +~\/\.cursor\/mcp\.json$/m);
  expect(stdout).toMatch(/^codex +yes +yes +~\/\.codex\/config\.toml$/m);
  expect(stdout).toMatch(/^gemini +yes +unreadable /m);
  expect(stdout).toMatch(/^zed +- +- /m);
  const { clients } = JSON.parse((await run("--list", "--json", "codex", "gemini")).stdout);
  expect(clients).toMatchObject([
    { client: "codex", present: true, installed: true, fileExists: true },
    { client: "gemini", installed: null },
  ]);
});

test("ends at a signal with the client at hand, and says what was done", async () => {
  write(".cursor/mcp.json", TWO);
  write(".gemini/settings.json", "{}");
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: "/nowhere" });

  const running = world.run("install", "--command", "sandpy");
  await world.signal("SIGINT");
  const { code, stdout } = await running;

  expect(code).toBe(130);
  expect(stdout).toContain("Cursor: added to ~/.cursor/mcp.json\n");
  expect(readFileSync(join(home, ".gemini/settings.json"), "utf8")).toBe("{}");
  expect(world.listens).toBe(false);
});

test("tells programs the same", async () => {
  write(".cursor/mcp.json", TWO);
  write(".gemini/settings.json", "[]");

  const { code, stdout } = await run("--json", "--command", "sandpy");
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({
    dryRun: false,
    clients: [
      { client: "cursor", action: "add", others: [{ name: "notes", movable: true, reason: null }] },
      { client: "gemini", action: "failed", code: "CONFIG_INVALID" },
    ],
  });
});

test.each([
  [["--uninstall", "--move"], "--uninstall and --move exclude each other"],
  [["--scope", "project", "--move"], "the servers of a project's file are everybody's"],
  [["--scope", "team"], '--scope is "team": expected user or project'],
  [["curser"], 'no client is called "curser"\nDid you mean "cursor"?'],
  [["claude"], 'no client is called "claude"\nThe clients are: claude-desktop, claude-code, '],
  [[], "no MCP client was found here\nName one of: claude-desktop, "],
  [["cursor"], "this sandpy runs from its source, which no client can start\nBuild it by ./scripts/build"],
])("refuses %j", async (argv, message) => {
  const { code, stderr } = await run(...argv);

  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
