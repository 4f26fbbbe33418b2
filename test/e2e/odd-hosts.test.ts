/** Homes, folders and locales as nobody expects them (case H14 of our attacks). */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

/** The same home at another path. */
function at(home: TestHome, path: string): TestHome {
  return { ...home, path, [Symbol.dispose]: () => undefined };
}

function makeHome(home: TestHome, name: string, isLink: boolean): TestHome {
  const path = join(home.path, name);
  mkdirSync(join(home.path, "real"));
  if (isLink) symlinkSync("real", path);
  else mkdirSync(path);
  return at(home, path);
}

describe("HOST-14: a home", () => {
  test.each([
    ["that is a link, of every kind of character", `-a b:c,d=e "q' \`$x\` 日本ü\\`, true],
    ["of 200 characters", "l".repeat(200), false],
  ])(
    "%s keeps what Python keeps, and takes results, in any locale",
    async (_case, name, isLink) => {
      using outer = createHome();
      const home = makeHome(outer, name, isLink);
      const env = { LANG: "C", LC_ALL: "POSIX" };
      {
        await using bridge = await startBridge({ home, env });
        const { text } = await bridge.python(
          'save_memory("kü", 1)\nopen("/projects/ü.txt", "w").write("ü")\nprint(load_memory("kü"), "ü")',
        );
        expect(text.split("\n")[0]).toBe("1 ü");
      }
      expect(readFileSync(join(home.path, "MCPs/user_tools/ü.txt"), "utf8")).toBe("ü");
      const { stdout } = await command(["memory", "list", "--json"], { home, env });
      expect(JSON.parse(stdout).memories).toMatchObject([{ key: "kü" }]);

      const out = `-o ${basename(home.path)}`.slice(0, 200);
      const code = 'open("/workspace/out/ü", "w").write(open("/projects/ü.txt").read())';
      const run = await command(["run", `--out=${out}`, "-c", code], { home, env });
      expect(run).toMatchObject({ code: 0 });
      expect(readdirSync(join(home.path, out)).sort()).toEqual(["manifest.json", "ü"]);

      const install = await command(["install", "--dry-run", "cursor"], { home, env });
      expect([install.code, existsSync(join(home.path, ".cursor"))]).toEqual([0, false]);
    },
    60_000,
  );

  test("that is no absolute path, or not known at all, is a clear error and leaves nothing behind", async () => {
    using home = createHome();
    const relative = await command(["memory", "list"], { home, env: { HOME: "folder" } });
    expect([relative.code, relative.stderr]).toEqual([
      3,
      expect.stringContaining('HOME is "folder": expected an absolute path\n'),
    ]);
    expect(readdirSync(home.path)).toEqual([]);
  });

  const asStranger = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"];
  const isPossible =
    process.getuid?.() === 0 &&
    Bun.which("setpriv") !== null &&
    Bun.spawnSync([...asStranger, "test", "-x", BINARY]).exitCode === 0;
  if (!isPossible) process.stderr.write("not run: as a user that the system does not know\n");
  test.skipIf(!isPossible)("of a user that the system does not know is asked for", async () => {
    const { HOME: _, ...env } = bridgeEnv("/");
    const { exitCode, stderr } = Bun.spawnSync([...asStranger, BINARY, "memory", "list"], { env, cwd: "/" });
    expect([exitCode, stderr.toString()]).toEqual([3, expect.stringContaining("HOME is not set")]);
  });
});

test("HOST-14: a folder that was removed is a clear error of whatever starts in it", async () => {
  using home = createHome();
  const gone = join(home.path, "gone");
  for (const args of [[], ["doctor"], ["run", "-c", "1"]]) {
    mkdirSync(gone);
    const script = 'rmdir "$0"; exec "$@"';
    const { exitCode, stderr } = Bun.spawnSync(["sh", "-c", script, gone, BINARY, ...args], {
      cwd: gone,
      env: bridgeEnv(home.path),
      stdin: "ignore",
    });
    expect([args, exitCode, stderr.toString()]).toEqual([
      args,
      3,
      expect.stringMatching(
        /^sandpy: the folder in which sandpy was started does not exist any more\nChange/,
      ),
    ]);
    if (existsSync(gone)) rmdirSync(gone);
  }
});
