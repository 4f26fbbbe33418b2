import { describe, expect, test } from "bun:test";
import { renderQuestion } from "../../src/upstream/approvals/question.ts";
import { asking, call, connect, type Form, say, tools } from "../helpers/approval-rig.ts";
import { createRig, scripted } from "./harness.ts";

describe("a question", () => {
  const hostile = {
    markup: "![x](http://evil.example/?q) <img src=x onerror=alert(1)> **bold**\n\nAllow this, says Sandpy",
    hidden: "a\u202eb\u200bc\u0007\u{e0041}",
    password: "hunter2hunter2",
    api_key: "k-123456",
    key: "prod",
    auth: "Bearer abcdef123456",
    home: "SECRETVALUE",
    long: "x".repeat(20_000),
  };

  test("NBR-7: shows arguments so that they cannot pass for anything else, and no secrets", async () => {
    await using rig = createRig([
      { ...asking(), transport: { ...scripted("fx", { tools }, { env: { K: "SECRETVALUE" } }).transport } },
    ]);
    const forms: Form[] = [];
    const client = await connect("older", rig, (form) => {
      forms.push(form);
      return say("deny");
    });
    await client.run([call("del-all", hostile), [call("wipe", { long: hostile.long }), call("wipe")]]);
    await client.close();

    expect(forms[0]?.message).toContain(
      "\n\nArguments, as the code gives them, with stars for what looks secret:\n\n",
    );
    const [one = "", several = ""] = forms.map(({ message }) => message);
    const shown = one.split("\n\n").find((part) => part.startsWith("    ")) ?? "";
    expect(shown).not.toContain("\n");
    for (const part of ["](", "<", "\u202e", "\u200b", "\u0007", "hunter2", "123456", "SECRETVALUE"]) {
      expect(shown).not.toContain(part);
    }
    for (const part of ["\\u202e", "\\u200b", '"key":"prod"', '"password":"***"', "\\n\\nAllow this"]) {
      expect(shown).toContain(part);
    }
    expect(shown).toMatch(/"long":"x{1000}…"\} … NOT ALL IS SHOWN: more stands where … is$/);
    expect(one.length).toBeLessThan(6000);
    expect(several).toMatch(/\n {4}1\. .*NOT ALL IS SHOWN: more stands where … is\n {4}2\. \{\}/);
    expect(several.length).toBeLessThan(6000);
  });

  const shownOf = (...all: unknown[]) => {
    const question = { server: "s", tool: { name: "t" }, hasChanged: false, rule: "r", arguments: all };
    const { message } = renderQuestion({ ...question, mask: (text) => text }, undefined).params as Form;
    return message.split("\n\n")[3] ?? "";
  };
  const NOT_ALL = " … NOT ALL IS SHOWN: more stands where … is";

  test.each<[string, unknown, string]>([
    ["a long one before it", { a: "x".repeat(9000), path: "/etc" }, '"path":"/etc"}'],
    ["many long ones before it", { ...Array(20).fill("x".repeat(9000)), path: "/etc" }, '"path":"/etc"}'],
    [
      "a name that is cut as its own is",
      { [`${"k ".repeat(3000)}1`]: 1, [`${"k ".repeat(3000)}2`]: "/etc" },
      '"/etc"}',
    ],
    ["fifty others", { ...Array(50).fill(1), path: "/etc" }, '"…":"1 more"}'],
    ["fifty others and a sign of ours", { "…": "/etc", ...Array(50).fill(1) }, '"…":"1 more"}'],
    ["a depth of eight", JSON.parse(`${'{"a":'.repeat(9)}"/etc"${"}".repeat(9)}`), '"…"'],
  ])("NBR-7: hides no argument behind %s without a word", (_, args, part) => {
    const shown = shownOf(args);
    expect(shown).toContain(part);
    expect(shown).toEndWith(NOT_ALL);
    expect(shown.length).toBeLessThan(4200);
  });

  test("NBR-7: shows the value of an argument that has the name of our sign", () => {
    const shown = shownOf({ ...Array(48).fill(1), "…": "/etc", more: 1, last: 2 });
    expect(shown).toContain('"…":"/etc"');
    expect(shown).toContain('"……":"1 more"');
  });

  test.each([
    ["a letter of another script", "https://gооgle.com", "https://g\\u043e\\u043egle.com"],
    ["a wide form", "good.com／x", "good.com\\uff0fx"],
    ["what looks like a slash", "good.com∕.evil.example", "good.com\\u2215.evil.example"],
    ["a space without width", "a\u200cb\u00adc\u2060d\u3164e", "a\\u200cb\\u00adc\\u2060d\\u3164e"],
    ["another kind of space", "/tmp\u00a0\u2800/etc", "/tmp\\u00a0\\u2800/etc"],
    ["a direction", "a\u061c\u202eb\u2067", "a\\u061c\\u202eb\\u2067"],
    ["a tag, or what selects a variant", "a\u{e0041}\ufe0f\u{e0101}", "a\\udb40\\udc41\\ufe0f\\udb40\\udd01"],
    ["a pile of marks", `e${"\u0301".repeat(5)}`, `e${"\u0301".repeat(3)}\\u0301\\u0301`],
    ["half a character", "a\ud800b", "a\\ud800b"],
    ["what a terminal acts on", "\u001b[2J\u009b1m\u007f", "\\u001b[2J\\u009b1m\\u007f"],
  ])("NBR-7: shows %s as an escape", (_, text, shown) => {
    expect(shownOf({ a: text })).toBe(`    {"a":"${shown}"}`);
  });

  test.each(["Ärger über Öl – „ja“…", "привет мир", "καλημέρα", "日本語 中文", "שלום عربي", "x² 😀 €"])(
    "shows %s as it is",
    (text) => {
      expect(shownOf({ a: text })).toBe(`    {"a":"${text.replace("²", "\\u00b2")}"}`);
    },
  );

  test("says what the server claims of its tool, and quotes its names", async () => {
    const name = "x](http://evil) `a` <b>\u202e";
    const script = {
      tools: { [name]: { annotations: { title: "# Safe!", destructiveHint: true, openWorldHint: false } } },
    };
    await using rig = createRig([asking(script)]);
    const forms: Form[] = [];
    const client = await connect("older", rig, (form) => {
      forms.push(form);
      return say("deny");
    });
    await client.run([call(name)]);
    await client.close();

    expect(forms[0]?.message.split("\n\n").slice(0, 2)).toEqual([
      'Code in Sandpy wants to call the tool "x\\u005d\\u0028http://evil\\u0029 \\u0060a\\u0060 \\u003cb\\u003e\\u202e" of the server "fx".',
      'The server says of this tool: title "# Safe\\u0021", can destroy things, stays within itself.',
    ]);
  });
});

test.each([
  ["2025-06-18", { enum: ["once", "run", "session", "deny"], enumNames: expect.arrayContaining(["Deny"]) }],
  ["2025-11-25", { oneOf: expect.arrayContaining([{ const: "deny", title: "Deny" }]) }],
  [undefined, { oneOf: expect.any(Array) }],
] as const)("a form for a client of %p has its choices as that revision wants them", (revision, schema) => {
  const question = {
    server: "s",
    tool: { name: "t" },
    hasChanged: false,
    rule: "r",
    arguments: [{}],
    mask: (text: string) => text,
  };
  const { requestedSchema } = renderQuestion(question, revision).params as { requestedSchema: object };

  expect(requestedSchema).toEqual({
    type: "object",
    properties: { decision: { type: "string", title: "Decision", ...schema } },
    required: ["decision"],
  });
});
