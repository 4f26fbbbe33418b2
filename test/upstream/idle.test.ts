import { describe, expect, test } from "bun:test";
import {
  createClock,
  createJournal,
  createRig,
  faultOf,
  livingWith,
  scripted,
  soon,
  until,
} from "./harness.ts";

function boots(lines: readonly string[]): number {
  return lines.filter((line) => line === "boot").length;
}

describe("a server that nobody uses", () => {
  test("is stopped after a while, and started again by the next use", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { journal: journal.path, tools: { a: {} } })], {
      idleMs: 50,
    });
    const call = () => rig.upstream.callTool({ server: "fx", tool: "a", arguments: {} }, soon());
    await call();

    await until(() => livingWith(journal.path).length === 0);
    expect(await rig.upstream.listServers(soon())).toMatchObject([{ status: "idle" }]);
    await call();

    expect(boots(journal.lines())).toBe(2);
    expect(rig.logged.join("")).not.toContain("WARNING");
  });

  test("is stopped too when its start outlasted whoever wanted it", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { journal: journal.path, slowStartMs: 300 })], {
      idleMs: 50,
    });
    const stop = new AbortController();
    const connecting = faultOf(rig.upstream.connect("fx", stop.signal));
    await until(() => journal.lines().includes("boot"));
    stop.abort();
    expect((await connecting).code).toBe("CANCELLED");

    await until(() => journal.lines().some((line) => line.includes("notifications/initialized")));
    await until(() => livingWith(journal.path).length === 0);
  });

  test("is not stopped during a call", async () => {
    using journal = createJournal();
    const tools = { slow: { delayMs: 400 } };
    await using rig = createRig([scripted("fx", { journal: journal.path, tools })], { idleMs: 50 });
    await rig.upstream.connect("fx", soon());

    await rig.upstream.callTool({ server: "fx", tool: "slow", arguments: {} }, soon());

    expect(boots(journal.lines())).toBe(1);
  });

  test("has ended before it is started again", async () => {
    using journal = createJournal();
    const script = { journal: journal.path, stubborn: true as const };
    await using rig = createRig([scripted("fx", script)], { idleMs: 20, limits: { stopGraceMs: 100 } });
    await rig.upstream.connect("fx", soon());
    await until(() => journal.lines().includes("SIGTERM"));

    const again = rig.upstream.connect("fx", soon());

    expect(boots(journal.lines())).toBe(1);
    await again;
    expect(boots(journal.lines())).toBe(2);
    expect(livingWith(journal.path).length).toBe(1);
  });
});

test("a server that failed ten times in a row is left alone until its definition changes", async () => {
  using journal = createJournal();
  const clock = createClock();
  const broken = scripted("fx", { journal: journal.path, bootExit: 1 });
  await using rig = createRig([broken], { clock });
  for (let failure = 0; failure < 10; failure++) {
    await faultOf(rig.upstream.connect("fx", soon()));
    clock.time += 30_000;
  }

  expect((await faultOf(rig.upstream.connect("fx", soon()))).hint).toBe(
    'Correct its definition "fx" in ~/MCPs/all.json. It failed 10 times in a row and is left alone for 570 s more, or until its definition changes.',
  );
  expect(boots(journal.lines())).toBe(10);

  rig.discovery = { servers: [scripted("fx", { journal: journal.path })], problems: [] };
  await rig.upstream.refresh();
  await rig.upstream.connect("fx", soon());
  expect(boots(journal.lines())).toBe(11);
});

test("starts at most eight servers at once", async () => {
  using journal = createJournal();
  const slow = { journal: journal.path, slowStartMs: 300 };
  const servers = Array.from({ length: 12 }, (_, index) => scripted(`fx${index}`, slow));
  await using rig = createRig(servers);
  let connected = 0; // what a server has heard of that comes later
  const connect = async ({ name }: (typeof servers)[number]) => {
    await rig.upstream.connect(name, soon(30_000));
    connected += 1;
  };
  const all = Promise.all(servers.map(connect));

  let most = 0;
  let done = false;
  const watch = async () => {
    while (!done) {
      most = Math.max(most, boots(journal.lines()) - connected);
      await Bun.sleep(5);
    }
  };
  const watching = watch();
  await all;
  done = true;
  await watching;

  expect(boots(journal.lines())).toBe(12);
  expect(most).toBeGreaterThan(2);
  expect(most).toBeLessThanOrEqual(8);
});

describe("what a definition says", () => {
  test("of its start is a deadline", async () => {
    await using rig = createRig([{ ...scripted("fx", { dead: true }), startMs: 200 }]);

    expect(await faultOf(rig.upstream.connect("fx", soon()))).toMatchObject({
      code: "UPSTREAM_TIMEOUT",
      message: 'server "fx" did not finish its start within 0.2 s',
    });
  });

  test("of its calls is one too, and the server hears of it", async () => {
    using journal = createJournal();
    const script = { journal: journal.path, tools: { mute: { mute: true as const }, ok: {} } };
    await using rig = createRig([{ ...scripted("fx", script), callMs: 100 }]);
    const call = (tool: string) => rig.upstream.callTool({ server: "fx", tool, arguments: {} }, soon());

    expect(await faultOf(call("mute"))).toEqual({
      code: "UPSTREAM_TIMEOUT",
      message: 'the call of tool "mute" of server "fx" took longer than the 0.1 s that its definition allows',
      hint: "The call may have taken effect. Ask for less at once, or the user for a larger timeout in its entry.",
    });
    await call("ok");
    expect(journal.lines().some((line) => line.includes("notifications/cancelled"))).toBe(true);
  });

  test("of its tools hides them, and refuses calls of them by name and alias", async () => {
    using journal = createJournal();
    const script = { journal: journal.path, tools: { "get-x": {}, "set-x": {}, other: {} } };
    const filtered = { ...scripted("fx", script), tools: { allow: ["*-x"], deny: ["set-*"] } };
    await using rig = createRig([filtered]);
    const call = (tool: string) => rig.upstream.callTool({ server: "fx", tool, arguments: {} }, soon());

    expect((await rig.upstream.tools("fx", soon())).map(({ name }) => name)).toEqual(["get-x"]);
    await call("get_x");
    for (const tool of ["set-x", "set_x"]) {
      expect(await faultOf(call(tool))).toEqual({
        code: "UPSTREAM_NOT_USABLE",
        message: 'tool "set-x" of server "fx" may not be used: its definition forbids "set-*"',
        hint: 'Only the user can allow it, in the entry "fx" of sandpy.',
      });
    }
    expect((await faultOf(call("other"))).code).toBe("UPSTREAM_NOT_USABLE");
    expect((await faultOf(call("gone"))).message).toContain('has no tool "gone": it has 1 tool');
    expect(journal.lines().filter((line) => line.includes("tools/call")).length).toBe(1);
  });
});
