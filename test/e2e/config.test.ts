/** The settings file of the binary: what counts, who says so, and where a fault is. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./helpers/command.ts";
import { createHome } from "./helpers/home.ts";

const ENV = { MCP_BRIDGE_CONFIG: "" };

test("shows what counts and where it comes from", async () => {
  using home = createHome();
  const file = join(home.path, ".config/sandpy/config.jsonc");
  expect((await command(["config", "init"], { home, env: ENV })).stdout).toBe(`${file}\n`);
  const text = readFileSync(file, "utf8").replace('// "pids": 128', '"pids": 77');
  home.write(".config/sandpy/config.jsonc", text);
  const line = text.slice(0, text.indexOf('"pids"')).split("\n").length;

  const { stdout } = await command(["config", "--json", "--max-calls", "3"], {
    home,
    env: { ...ENV, MCP_BRIDGE_CPUS: "2" },
  });
  const { settings } = JSON.parse(stdout) as { settings: readonly Record<string, unknown>[] };
  const of = (key: string) => {
    const { value, source, where } = settings.find((setting) => setting["key"] === key) ?? {};
    return [value, source, where];
  };

  expect(of("pids")).toEqual([77, "file", [`~/.config/sandpy/config.jsonc:${line}:11`]]);
  expect(of("cpus")).toEqual([2, "env", ["MCP_BRIDGE_CPUS"]]);
  expect(of("policy.maxCallsPerRun")).toEqual([3, "flags", ["--max-calls"]]);
  expect(of("timeout")).toEqual([30, "default", []]);
  expect((await command(["config", "get", "pids"], { home, env: ENV })).stdout).toBe("77\n");
});

test("a fault in the file stops every command that needs it, with its place", async () => {
  using home = createHome();
  home.write(
    ".config/sandpy/config.jsonc",
    '{\n  "policy": {\n    "tools": { "dney": ["x"] },\n    "readOnly": "perhaps"\n  },\n  "timeout": 0\n}\n',
  );

  for (const argv of [["config"], ["servers"], ["run", "-c", "1"], ["install"]]) {
    const { code, stdout, stderr } = await command(argv, { home, env: ENV });
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toContain(
      '~/.config/sandpy/config.jsonc:3:16: unknown key "policy.tools.dney": did you mean "policy.tools.deny"?',
    );
  }
  expect((await command(["config", "path"], { home, env: ENV })).code).toBe(0);
});
