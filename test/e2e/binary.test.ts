import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const home = createHome();
afterAll(() => home[Symbol.dispose]());

const marker = join(home.path, "ran");
home.write("evil.js", `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "");`);
home.write("bunfig.toml", 'preload = ["./evil.js"]\n');
home.write(".env", "MCP_BRIDGE_LOG_LEVEL=NONSENSE\n");

/** Runs it with these variables, which no child of ours would get. */
function runWith(variables: Readonly<Record<string, string>>) {
  rmSync(marker, { force: true });
  const env = { ...bridgeEnv(home.path), ...variables };
  const { exitCode, stdout } = Bun.spawnSync([BINARY, "--version"], { cwd: home.path, env, timeout: 30_000 });
  return { exitCode, stdout: stdout.toString(), ran: existsSync(marker) };
}

describe("the binary", () => {
  test("runs nothing of the folder where it is started", () => {
    expect(runWith({})).toMatchObject({ exitCode: 0, ran: false });
  });

  test.each(["--preload ./evil.js", "--require ./evil.js", "--import ./evil.js", "--config=./bunfig.toml"])(
    "runs no code that BUN_OPTIONS names: %s",
    (options) => {
      expect(runWith({ BUN_OPTIONS: options })).toMatchObject({ exitCode: 1, ran: false });
    },
  );

  test.each(["--eval 1", "--print 1", "--env-file=.env", "--no-addons", "--cwd /"])(
    "is itself with other BUN_OPTIONS: %s",
    (options) => {
      const { exitCode, stdout, ran } = runWith({ BUN_OPTIONS: options });
      expect([exitCode, ran]).toEqual([0, false]);
      expect(stdout).toStartWith("sandpy ");
    },
  );

  test("is Bun with BUN_BE_BUN, as SECURITY.md says: no build can prevent that", () => {
    expect(runWith({ BUN_BE_BUN: "1" }).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
