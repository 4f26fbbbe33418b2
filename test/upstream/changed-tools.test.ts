/** What the user allowed of a tool, and what the tool has become since. */
import { describe, expect, test } from "bun:test";
import { asking, call, connect, ERAS, type Form, say, tools } from "../helpers/approval-rig.ts";
import { createJournal, createRig, soon } from "./harness.ts";

describe.each(ERAS)("NBR-10: a tool that its server changes, with a client of the %s kind,", (era) => {
  const wipe = { inputSchema: { type: "object", properties: { all: { type: "boolean" } } } };
  const turning = { ...tools, turn: { annotations: { readOnlyHint: true }, changes: { wipe } } };

  test("is asked for again though it was allowed for the session, and the question says why", async () => {
    await using rig = createRig([asking({ tools: turning })]);
    const forms: Form[] = [];
    const client = await connect(era, rig, (form) => {
      forms.push(form);
      return say(forms.length === 1 ? "session" : "deny");
    });
    const results = await client.run([
      call("wipe"),
      call("wipe"),
      call("turn"),
      call("wipe"),
      call("del-all"),
    ]);
    await client.close();

    expect(results.slice(0, 3)).toEqual([{}, {}, {}]);
    expect(String(results[3])).toContain("the user denied it");
    const changed = "You allowed it for this session, but its server has changed it since.";
    expect(forms.map(({ message }) => message.includes(changed))).toEqual([false, true, false]);
  });

  test("is not called where that happens while the user is asked", async () => {
    using journal = createJournal();
    await using rig = createRig([asking({ tools: turning, journal: journal.path })]);
    const client = await connect(era, rig, async () => {
      await rig.upstream.callTool(call("turn"), soon());
      return say("session");
    });
    const [first, second] = await client.run([call("wipe"), call("get")]);
    await client.close();

    expect(String(first)).toContain('tool "wipe" of server "fx" changed while the user was asked');
    expect(second).toEqual({});
    expect(journal.lines().some((line) => line.includes('"wipe","arguments"'))).toBe(false);
  });

  test("is asked for at once when it does not claim any more to only read", async () => {
    const get = { annotations: { readOnlyHint: false } };
    const script = { tools: { ...tools, turn: { ...turning.turn, changes: { get } } } };
    await using rig = createRig([asking(script)]);
    const client = await connect(era, rig, () => say("deny"));
    const [before, , after] = await client.run([call("get"), call("turn"), call("get")]);
    await client.close();

    expect(before).toEqual({});
    expect(String(after)).toContain("the user denied it");
  });
});
