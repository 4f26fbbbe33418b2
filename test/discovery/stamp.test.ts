import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createStamp } from "../../src/discovery/stamp.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-stamp-")));
  mkdirSync(join(root, "project"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function create(): () => Promise<string> {
  const config = { ...loadConfig({ HOME: root }), projectDir: join(root, "project"), systemRoot: root };
  return createStamp({ ...config, platform: "linux" });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test.each([
  "MCPs/new.json",
  ".cursor/mcp.json",
  "project/.mcp.json",
  "project/x.code-workspace",
  ".local/share/sandpy/trust.json",
  "etc/claude-code/managed-settings.json",
  ".config/mcp/servers/a.json",
])("is another one once %s is there, and when it changes and goes", async (path) => {
  const stamp = create();
  const before = await stamp();
  expect(await stamp()).toBe(before);

  write(path, "{}");
  const there = await stamp();
  write(path, '{"mcpServers":{}}');
  const changed = await stamp();
  rmSync(join(root, path));
  const gone = await stamp();

  expect(new Set([before, there, changed]).size).toBe(3);
  expect(gone).not.toBe(changed);
});

test("stays the same when other files come and go", async () => {
  write("MCPs/a.json", "{}");
  const stamp = create();
  const before = await stamp();
  write("project/main.py", "");
  write("MCPs/notes.txt", "");

  expect(await stamp()).toBe(before);
});
