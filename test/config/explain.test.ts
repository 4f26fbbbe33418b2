import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { explainSettings } from "../../src/config/explain.ts";
import { loadSettings } from "../../src/config/load-file.ts";
import { SETTING_NAMES, type SettingName } from "../../src/config/schema.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-explain-"));
  mkdirSync(join(home, ".config/sandpy"), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string): void {
  writeFileSync(join(home, ".config/sandpy/config.jsonc"), text);
}

async function explain(env = {}, flags: Partial<Record<SettingName, string>> = {}) {
  const explanation = await explainSettings({ HOME: home, ...env }, flags);
  return {
    ...explanation,
    of: (name: SettingName) => {
      const found = explanation.settings.find((setting) => setting.name === name);
      return [found?.value, found?.source, ...(found?.where ?? [])];
    },
  };
}

test("says of each setting who set it", async () => {
  write('{\n  "pids": 7,\n  "cpus": 2,\n  "policy": { "tools": { "deny": ["file"] } }\n}');
  const { of, settings, file } = await explain(
    { MCP_BRIDGE_CPUS: "3", MCP_BRIDGE_MEMORY: "2g", MCP_BRIDGE_DENY_TOOLS: "env", MCP_BRIDGE_IMAGE: "  " },
    { MCP_BRIDGE_MEMORY: "3g", MCP_BRIDGE_DENY_TOOLS: "flag" },
  );
  const shown = "~/.config/sandpy/config.jsonc";

  expect(file).toBe(join(home, ".config/sandpy/config.jsonc"));
  expect(settings.map(({ name }) => name)).toEqual([...SETTING_NAMES]);
  expect(of("MCP_BRIDGE_PIDS")).toEqual([7, "file", `${shown}:2:11`]);
  expect(of("MCP_BRIDGE_CPUS")).toEqual([3, "env", "MCP_BRIDGE_CPUS"]);
  expect(of("MCP_BRIDGE_MEMORY")).toEqual(["3g", "flags", "--memory"]);
  expect(of("MCP_BRIDGE_IMAGE")).toEqual(["python:3.14-slim", "default"]);
  expect(of("MCP_BRIDGE_CONFIG")).toEqual([shown, "default"]);
  expect(of("MCP_BRIDGE_DENY_TOOLS")).toEqual([
    ["flag", "env", "file"],
    "flags",
    "--deny-tool",
    "MCP_BRIDGE_DENY_TOOLS",
    `${shown}:4:34`,
  ]);
});

test("shows no secret", async () => {
  const text = JSON.stringify(
    await explainSettings({
      HOME: home,
      MCP_BRIDGE_HTTP_TOKEN: "ada:0123456789abcdef-SECRET",
      MCP_SERVERS_CONFIG: '{"mcpServers": {"x": {"command": "x", "env": {"TOKEN": "SECRET"}}}}',
      MCP_BRIDGE_HTTP_ISSUER: "https://idp.example.com",
      MCP_BRIDGE_HTTP_JWKS: "https://idp.example.com/keys?api_key=SECRET",
    }),
  );

  expect(text).toContain('["ada:***"]');
  expect(text).toContain('"*** (JSON)"');
  expect(text).not.toContain("SECRET");
});

test("names what looks like a setting and is none", async () => {
  const { unknown } = await explain({
    MCP_BRIDGE_TIMEOUTT: "1",
    MCP_BRIDGE_ZZZZZZZZZZZZ: "1",
    MCP_OTHER: "1",
  });

  expect(unknown).toEqual([
    { name: "MCP_BRIDGE_TIMEOUTT", meant: "MCP_BRIDGE_TIMEOUT" },
    { name: "MCP_BRIDGE_ZZZZZZZZZZZZ", meant: null },
  ]);
});

test("gives values that mean the same in a file", async () => {
  const env = {
    MCP_BRIDGE_MEMORY: "1000k",
    MCP_BRIDGE_MAX_TIMEOUT: "7",
    MCP_BRIDGE_READ_ONLY: "1",
    MCP_BRIDGE_MEMORY_: "",
  };
  const plain = { ...env, MCP_BRIDGE_MEMORY: "7000001" };
  for (const given of [{ ...env, MCP_BRIDGE_MEMORY: "10000k" }, plain]) {
    const { settings } = await explain(given);
    const tree: Record<string, unknown> = {};
    for (const { key, value } of settings) {
      if (key === null || value === null) continue;
      const path = key.split(".");
      let group = tree;
      for (const part of path.slice(0, -1)) {
        group[part] ??= {};
        group = group[part] as Record<string, unknown>;
      }
      group[path.at(-1) ?? ""] = value;
    }
    write(JSON.stringify(tree));
    const { env: _, policy, ...fromFile } = await loadSettings({ HOME: home });
    rmSync(join(home, ".config/sandpy/config.jsonc"));
    const { env: __, policy: expected, ...fromEnv } = await loadSettings({ HOME: home, ...given });

    expect(fromFile).toEqual(fromEnv);
    expect(policy.readOnly === undefined).toBe(expected.readOnly === undefined);
  }
});

test("refuses a file with a fault also where a variable stands above it", async () => {
  write('{\n  "timeout": "soon"\n}');

  await expect(explain({ MCP_BRIDGE_TIMEOUT: "5" })).rejects.toThrow(
    '~/.config/sandpy/config.jsonc:2:14: timeout is "soon": expected a whole number of seconds from 1 to 2147483',
  );
});

test.each([
  ["too deep a nesting", "[".repeat(400_000), "it is nested too deeply"],
  [
    "what is no text in a list",
    '{"policy": {"tools": {"ask": ["a", 7]}}}',
    ':1:36: "policy.tools.ask" has 7: expected',
  ],
  ["a typo three levels down", '{"policy": {"tools": {"alow": []}}}', 'did you mean "policy.tools.allow"?'],
])("says where %s is", async (_what, text, message) => {
  write(text);

  await expect(explain()).rejects.toThrow(message);
});
