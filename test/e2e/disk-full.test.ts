/** A disk that is full, for real, in each place where something is written (case H9 of our attacks). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { flavour } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

const DISK_BYTES = 256 * 1024;
const CONFIG = JSON.stringify({ mcpServers: { a: { command: "true" } }, other: "y".repeat(3000) });

const disk = mkdtempSync(join(tmpdir(), "sandpy-disk-"));
const mount = () =>
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${DISK_BYTES},mode=700`, "tmpfs", disk]).exitCode === 0;
const isMounted = process.getuid?.() === 0 && flavour !== "podman-rootless" && mount();
if (!isMounted) process.stderr.write("not run: a full disk, since only root can mount one\n");

let home: TestHome;
beforeAll(() => {
  home = createHome();
});
afterAll(() => {
  home[Symbol.dispose]();
  if (isMounted) Bun.spawnSync(["umount", "-l", disk]);
  rmSync(disk, { recursive: true, force: true });
});

const onDisk = (name: string) => join(disk, name);
const diskHome: TestHome = {
  path: disk,
  write: (name, content) => {
    mkdirSync(join(onDisk(name), ".."), { recursive: true });
    writeFileSync(onDisk(name), content);
    return onDisk(name);
  },
  defineServers: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** Leaves no room, but for the names of files. */
function fill(): Disposable {
  const piece = Buffer.alloc(4096);
  try {
    for (let at = 0; ; at++) writeFileSync(onDisk(".filler"), piece, { flag: at === 0 ? "w" : "a" });
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  }
  return { [Symbol.dispose]: () => rmSync(onDisk(".filler")) };
}

/** Nothing of ours that is half written. */
async function leftovers(): Promise<readonly string[]> {
  const names = await readdir(disk, { recursive: true });
  return names.filter((name) => /sandpy-writing|\.lock/.test(name));
}

describe.skipIf(!isMounted)("HOST-9: a full disk", () => {
  const run = (code: string, env: Record<string, string> = {}) => command(["run", "-c", code], { home, env });

  test("as state directory refuses what is new, keeps what is old, and lets it be deleted", async () => {
    const env = { MCP_BRIDGE_STATE_DIR: onDisk("state") };
    await using bridge = await startBridge({ home, env });
    await bridge.python('save_memory("k", "old"); open("/projects/a", "w").write("old")');
    {
      using _ = fill();
      const memory = await bridge.python('save_memory("k", "new" * 1000)');
      expect([memory.isError, memory.text]).toEqual([true, expect.stringContaining("the disk is full")]);
      const tool = await bridge.python("def f(): return 1\nsave_tool(f)");
      expect([tool.isError, tool.text]).toEqual([true, expect.stringContaining("the disk is full")]);
      const file = await bridge.python(
        'open("/projects/a", "w").write("new" * 9000)\nprint(load_memory("k"))',
      );
      expect([file.isError, file.text]).toEqual([
        false,
        expect.stringMatching(/^old\n[\s\S]*not kept: \/projects\/a: .*the disk is full/),
      ]);
      expect(readFileSync(onDisk("state/user_tools/a"), "utf8")).toBe("old");
      expect((await command(["memory", "delete", "k"], { home, env })).code).toBe(0);
      expect(await leftovers()).toEqual([]);
    }
    await bridge.python('open("/projects/a", "a").write("!")\nsave_memory("k", "new")');
    expect(readFileSync(onDisk("state/user_tools/a"), "utf8")).toBe(`${"new".repeat(9000)}!`);
    expect((await bridge.python('load_memory("k")')).text).toContain("new");
  }, 60_000);

  test("as home leaves the files of clients, trust and settings as they are, and is no harm to what only reads", async () => {
    const cursor = diskHome.write(".cursor/mcp.json", CONFIG);
    diskHome.write("project/.git/HEAD", "");
    diskHome.write("project/.mcp.json", JSON.stringify({ mcpServers: { p: { command: "/bin/cat" } } }));
    const commands = [
      ["config", "init"],
      ["install", "cursor"],
      ["trust", "--yes"],
    ];
    const cwd = onDisk("project");
    {
      using _ = fill();
      for (const args of commands) {
        const { code, stderr } = await command(args, { home: diskHome, cwd });
        expect([args, code, stderr]).toEqual([args, 3, expect.stringContaining("the disk is full\n")]);
      }
      expect(readFileSync(cursor, "utf8")).toBe(CONFIG);
      expect(await leftovers()).toEqual([]);
      const { code, stdout } = await command(["run", "-c", "print(6 * 7)"], { home: diskHome, cwd });
      expect([code, stdout]).toEqual([0, "42\n"]);
    }
    for (const args of commands) expect((await command(args, { home: diskHome, cwd })).code).toBe(0);
  }, 60_000);

  test("as the only place for our own files is a clear error", async () => {
    using _ = fill();
    const env = { TMPDIR: onDisk("tmp"), XDG_CACHE_HOME: onDisk("cache"), HOME: onDisk("home") };
    mkdirSync(onDisk("tmp"));
    const { code, stderr } = await command(["run", "-c", "1"], { home, env });
    expect([code, stderr]).toEqual([
      4,
      expect.stringMatching(/^sandpy: .*the disk is full\nFree some space/),
    ]);
  }, 60_000);

  test("as place for results leaves no half of one", async () => {
    rmSync(onDisk("state"), { recursive: true, force: true });
    const code =
      'import os; os.makedirs("/workspace/out/d"); open("/workspace/out/d/x", "wb").write(bytes(500_000))';
    const out = await command(["run", "--out", onDisk("out"), "-c", code], { home });
    expect([out.code, out.stderr]).toEqual([5, expect.stringContaining("the disk is full\n")]);
    expect(existsSync(onDisk("out/d/x"))).toBe(false);
    using _ = fill();
    const exported = await command(["memory", "export", onDisk("x.json")], { home });
    expect([exported.code, exported.stderr]).toEqual([2, expect.stringContaining("the disk is full")]);
    expect(existsSync(onDisk("x.json"))).toBe(false);
    const audit = await run("print(1)", { MCP_BRIDGE_AUDIT: onDisk("audit.jsonl") });
    expect([audit.code, audit.stdout]).toEqual([0, "1\n"]);
  }, 60_000);
});
