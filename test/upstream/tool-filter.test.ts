import { describe, expect, test } from "bun:test";
import type { ToolPolicy } from "../../src/discovery/server-definition.ts";
import { askRuleOf, refusalOf } from "../../src/upstream/tool-filter.ts";

const TOOL = { name: "get", alias: "get" };

test.each([
  [undefined, [], undefined],
  [["set", "get*"], [], undefined],
  [["get*"], ["get"], 'its definition forbids "get"'],
  [["set*"], [], "it is not among the tools that its definition allows"],
  [[], [], "it is not among the tools that its definition allows"],
] as const)("allow %p and deny %p say of a tool: %p", (allow, deny, rule) => {
  expect(refusalOf({ allow, deny }, TOOL)?.rule).toBe(rule as string);
});

const OPEN: ToolPolicy = { allow: undefined, deny: [], ask: [], readOnly: undefined };
const DENIED = { glob: "get_*", rule: '"get_*" of --deny-tool', where: "--deny-tool" };

function refusal(policy: Partial<ToolPolicy>, tool: Parameters<typeof refusalOf>[1]) {
  return refusalOf({ allow: undefined, deny: [], policy: { ...OPEN, ...policy } }, tool);
}

describe("the user's own settings", () => {
  test.each([
    ["get_x", "get_x", '"get_*" of --deny-tool forbids it'],
    ["get-x", "get_x", '"get_*" of --deny-tool forbids it'], // by its alias
    ["set", "set", undefined],
  ])("deny the tool %j with the alias %j: %p", (name, alias, rule) => {
    expect(refusal({ deny: [DENIED] }, { name, alias })?.rule).toBe(rule as string);
  });

  test("allow by the tool's own name alone, which its server cannot choose by another tool's", () => {
    const allow = { globs: ["get_x"], where: "MCP_BRIDGE_ALLOW_TOOLS" };
    expect(refusal({ allow }, { name: "get_x", alias: "get_x" })).toBeUndefined();
    expect(refusal({ allow }, { name: "get-x", alias: "get_x" })).toEqual({
      rule: "MCP_BRIDGE_ALLOW_TOOLS does not name it",
      setting: "MCP_BRIDGE_ALLOW_TOOLS",
    });
  });

  test.each([
    [{ readOnlyHint: true }, undefined],
    [{ readOnlyHint: true, destructiveHint: false }, undefined],
    [{ readOnlyHint: true, destructiveHint: true }, "says that it changes things"],
    [{ readOnlyHint: false }, "says that it changes things"],
    [{ title: "x" }, "does not say that of it"],
    [undefined, "does not say that of it"],
  ])("let a tool with %j be called when only reading is allowed: %p", (annotations, what) => {
    const tool = { ...TOOL, ...(annotations === undefined ? {} : { annotations }) };
    const rule = `--read-only is on for tools that only read, and its server ${what}`;
    expect(refusal({ readOnly: "--read-only" }, tool)?.rule).toBe(
      (what === undefined ? undefined : rule) as string,
    );
  });

  test("do not undo what the definition forbids", () => {
    const policy = { ...OPEN, allow: { globs: ["*"], where: "w" } };
    expect(refusalOf({ allow: undefined, deny: ["get"], policy }, TOOL)?.setting).toBeUndefined();
  });
});

describe("what the user wants to be asked for", () => {
  const rules = ["del*", "destructive"].map((glob) => ({ glob, rule: glob, where: "--ask" }));
  const askedFor = (tool: Parameters<typeof askRuleOf>[1], ask = rules) =>
    askRuleOf({ allow: undefined, deny: [], policy: { ...OPEN, ask } }, tool)?.rule;

  test.each([
    ["del-all", "del_all", "del*"],
    ["!del", "del", "del*"], // by its alias
    ["get", "get", undefined],
  ])("is the tool %j with the alias %j by the rule %p", (name, alias, rule) => {
    const annotations = { readOnlyHint: true };
    expect(askedFor({ name, alias, annotations })).toBe(rule as string);
  });

  test.each([
    [undefined, true],
    [{}, true],
    [{ title: "T" }, true],
    [{ readOnlyHint: true }, false],
    [{ readOnlyHint: true, destructiveHint: false }, false],
    [{ readOnlyHint: true, destructiveHint: true }, true],
    [{ readOnlyHint: false }, true],
    [{ readOnlyHint: false, destructiveHint: false }, true],
    [{ destructiveHint: false }, true],
  ] as const)("is, by the word, a tool that says of itself %p: %p", (annotations, asks) => {
    const tool = { ...TOOL, ...(annotations === undefined ? {} : { annotations }) };
    expect(askedFor(tool) === "destructive").toBe(asks);
    expect(askedFor(tool, rules.slice(0, 1))).toBeUndefined();
  });
});
