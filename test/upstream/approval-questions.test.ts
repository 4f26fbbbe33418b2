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

    const [one = "", several = ""] = forms.map(({ message }) => message);
    const shown = one.split("\n\n").find((part) => part.startsWith("    ")) ?? "";
    expect(shown).not.toContain("\n");
    for (const part of ["](", "<", "\u202e", "\u200b", "\u0007", "hunter2", "123456", "SECRETVALUE"]) {
      expect(shown).not.toContain(part);
    }
    for (const part of ["\\u202e", "\\u200b", '"key":"prod"', '"password":"***"', "\\n\\nAllow this"]) {
      expect(shown).toContain(part);
    }
    expect(shown).toMatch(/… NOT ALL IS SHOWN: \d+ characters more$/);
    expect(one.length).toBeLessThan(6000);
    expect(several).toMatch(/\n {4}1\. .*NOT ALL IS SHOWN: \d+ characters more\n {4}2\. \{\}/);
    expect(several.length).toBeLessThan(6000);
  });

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
