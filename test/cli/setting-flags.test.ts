import { expect, test } from "bun:test";
import { parseArguments } from "../../src/cli/arguments.ts";
import { HTTP_FLAGS, SETTING_FLAGS, settingOverrides } from "../../src/cli/setting-flags.ts";
import { SETTING_NAMES, SETTINGS } from "../../src/config/schema.ts";

const parse = (...words: string[]) => settingOverrides(parseArguments(words, SETTING_FLAGS).values);

test("declares the flag of every setting that has one, and no other", () => {
  const flags = SETTING_NAMES.flatMap((name) => SETTINGS[name].flag ?? []);
  expect(Object.keys({ ...SETTING_FLAGS, ...HTTP_FLAGS }).sort()).toEqual(flags.sort());
});

test.each([
  [["--deny-tool", "a", "--deny-tool=b,c"], { MCP_BRIDGE_DENY_TOOLS: "a,b,c" }],
  [["--read-only", "--no-audit"], { MCP_BRIDGE_READ_ONLY: "1", MCP_BRIDGE_AUDIT: "0" }],
  [
    ["--max-calls=7", "--config", "x.jsonc"],
    { MCP_BRIDGE_MAX_CALLS_PER_RUN: "7", MCP_BRIDGE_CONFIG: "x.jsonc" },
  ],
  [
    ["--trust-project", "--allow-server", "n"],
    { MCP_BRIDGE_TRUST_PROJECT: "1", MCP_BRIDGE_ALLOW_SERVERS: "n" },
  ],
  [[], {}],
] as const)("%j sets %j", (words, expected) => {
  expect(parse(...words)).toEqual(expected);
});

test("takes a flag twice only where it is for a list", () => {
  expect(() => parse("--max-calls", "1", "--max-calls", "2")).toThrow("--max-calls is given twice");
  expect(() => parse("--read-only", "--read-only")).toThrow("--read-only is given twice");
});
