/** The binary writes itself into the files of clients, is found there again, and leaves them as they were. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command, onTerminal } from "./helpers/command.ts";
import { BINARY } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const CURSOR = `{
\t// mine
\t"mcpServers": {
\t\t"notes": { "command": "notes", "env": { "TOKEN": "s3cret-value" } }, // one
\t},
}
`;
const PATH = "/usr/bin:/bin";

test("installs by its own path, says what it did, and takes it back to the byte", async () => {
  using home = createHome();
  const cursor = home.write(".cursor/mcp.json", CURSOR);
  const codex = home.write(".codex/config.toml", '# mine\r\nmodel = "x"');
  const before = [readFileSync(cursor, "utf8"), readFileSync(codex, "utf8")];
  const env = { PATH };

  const preview = await command(["install", "--dry-run", "--move"], { home, env });
  expect(preview.stdout).not.toContain("s3cret");
  expect(preview.stdout).toContain(`+\t\t\t"command": "${BINARY}"`);
  expect(existsSync(`${cursor}.sandpy-backup`)).toBe(false);

  const first = await command(["install", "--move"], { home, env });
  expect([first.code, first.stdout]).toEqual([
    0,
    "Cursor: added to ~/.cursor/mcp.json\n  moved to ~/MCPs/cursor.json: notes\nCodex: added to ~/.codex/config.toml\nRestart the clients that run: they read their files at start.\n",
  ]);
  expect(readFileSync(codex, "utf8")).toBe(
    `# mine\r\nmodel = "x"\r\n\r\n[mcp_servers.sandpy]\r\ncommand = "${BINARY}"\r\nargs = ["serve"]\r\n`,
  );
  const { servers } = JSON.parse((await command(["servers", "--json"], { home, env })).stdout);
  expect(servers).toMatchObject([
    { name: "notes", state: "usable", origins: [{ client: "sandpy" }] },
    { name: "sandpy", state: "self", origins: [{ client: "Codex" }, { client: "Cursor" }] },
  ]);

  expect((await command(["install", "--uninstall"], { home, env })).code).toBe(0);
  expect([readFileSync(cursor, "utf8"), readFileSync(codex, "utf8")]).toEqual(before);
});

test("what it wrote starts a server that speaks MCP", async () => {
  using home = createHome();
  await command(["install", "claude-code"], { home, env: { PATH } });
  const { mcpServers } = JSON.parse(readFileSync(join(home.path, ".claude.json"), "utf8"));
  const entry = mcpServers.sandpy as { command: string; args: readonly string[] };

  expect(entry).toEqual({ type: "stdio", command: BINARY, args: ["serve"], env: {} } as typeof entry);
  await using bridge = await startBridge({ home, args: entry.args });
  expect((await bridge.python("6 * 7")).isError).not.toBe(true);
});

test("takes the name on the PATH for clients that a shell starts, and its path for the others", async () => {
  using home = createHome();
  const link = join(home.path, "bin/sandpy");
  home.write("bin/.keep", "");
  symlinkSync(BINARY, link);
  const env = { PATH: `${dirname(link)}:${PATH}` };

  await command(["install", "claude-code", "cursor"], { home, env });
  const read = (path: string) =>
    JSON.parse(readFileSync(join(home.path, path), "utf8")).mcpServers.sandpy.command;
  expect([read(".claude.json"), read(".cursor/mcp.json")]).toEqual(["sandpy", link]);
  // The same program by another path is the same entry.
  const again = await command(["install", "claude-code", "cursor"], { home, env: { PATH } });
  expect(again.stdout).toContain("Cursor: is there already");
});

test.each([
  ["y\n", true],
  ["\n", false],
])("asks on a terminal whether to move what stands beside it: %j", async (answer, isMoved) => {
  using home = createHome();
  home.write(".cursor/mcp.json", CURSOR);

  const { code, screen } = await onTerminal(["install", "cursor"], answer, { home });

  expect(code).toBe(0);
  expect(screen).toContain("Cursor starts these itself, beside Sandpy: notes");
  expect(existsSync(join(home.path, "MCPs/cursor.json"))).toBe(isMoved);
  expect(readFileSync(join(home.path, ".cursor/mcp.json"), "utf8").includes("notes")).toBe(!isMoved);
});

test("a file that may not be written is an error with exit code 3, and stays", async () => {
  using home = createHome();
  const file = home.write(".cursor/mcp.json", CURSOR);
  chmodSync(file, 0o400);

  const { code, stderr } = await command(["install", "cursor"], { home });

  expect([code, readFileSync(file, "utf8")]).toEqual([3, CURSOR]);
  expect(stderr).toStartWith(`sandpy: Cursor: "${file}" is read-only\n`);
});
