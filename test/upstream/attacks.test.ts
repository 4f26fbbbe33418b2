import { describe, expect, test } from "bun:test";
import { createJournal, createRig, faultOf, scripted, soon, until } from "./harness.ts";

type Rig = ReturnType<typeof createRig>;

function call(rig: Rig, tool: string, signal = soon(), args: Record<string, unknown> = {}) {
  return rig.upstream.callTool({ server: "fx", tool, arguments: args }, signal);
}

function count(lines: readonly string[], text: string): number {
  return lines.filter((line) => line.includes(text)).length;
}

describe("UPS-2: a server", () => {
  test("that answers after the call was cancelled disturbs nobody", async () => {
    using journal = createJournal();
    await using rig = createRig([
      scripted("fx", { tools: { late: { onCancelled: true }, ok: {} }, journal: journal.path }),
    ]);
    await call(rig, "ok");

    const stop = new AbortController();
    const fault = faultOf(call(rig, "late", stop.signal));
    await until(() => count(journal.lines(), '"late"') === 1);
    stop.abort(new DOMException("its time is over", "TimeoutError"));
    expect((await fault).code).toBe("UPSTREAM_TIMEOUT");
    await until(() => count(journal.lines(), "notifications/cancelled") === 1); // the answer comes before all others

    expect(await call(rig, "ok", soon(), { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
    expect(count(journal.lines(), "boot")).toBe(1);
  });

  test("that answers twice is heard once", async () => {
    await using rig = createRig([scripted("fx", { tools: { twice: { twice: true } } })]);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => call(rig, "twice", soon(), { index })),
    );
    expect(answers.map((answer) => answer["structuredContent"])).toEqual(
      Array.from({ length: 50 }, (_, index) => ({ index })),
    );
  });
});

test.each([
  ["at once, as if all were well", { bootExit: 0 }, "exited with code 0"],
  ["with an error", { bootExit: 9, stderr: "bad key" }, "bad key"],
])("UPS-5: a server that exits %s is not started again and again", async (_how, script, words) => {
  using journal = createJournal();
  await using rig = createRig([scripted("fx", { ...script, journal: journal.path })], {
    clock: { now: () => 0, sleep: async () => undefined }, // no pause ever passes
  });
  const faults = await Promise.all(
    Array.from({ length: 100 }, () => faultOf(rig.upstream.connect("fx", soon()))),
  );
  for (let round = 0; round < 100; round++) faults.push(await faultOf(rig.upstream.connect("fx", soon())));

  expect(faults.every(({ message }) => message.includes(words))).toBe(true);
  expect(count(journal.lines(), "boot")).toBeLessThanOrEqual(10);
});

describe("UPS-7: a list of tools", () => {
  test("of five thousand is taken whole, and at ten thousand it ends", async () => {
    await using rig = createRig([
      scripted("fx", { manyTools: 5000 }),
      scripted("more", { manyTools: 12_000 }),
    ]);

    expect((await rig.upstream.tools("fx", soon())).length).toBe(5000);
    expect((await rig.upstream.tools("more", soon())).length).toBe(10_000);
    expect(rig.logged.join("")).toContain("the list of tools is too long or does not end");
  });

  test("that is said to change a thousand times is fetched a few times", async () => {
    using journal = createJournal();
    const script = { tools: { storm: { storm: 1000 }, ok: {} }, journal: journal.path };
    await using rig = createRig([scripted("fx", script)]);
    for (let round = 0; round < 20; round++) await call(rig, "storm");
    await rig.upstream.tools("fx", soon());

    expect(count(journal.lines(), "tools/list")).toBeLessThan(6);
  });
});

test("UPS-9: a description of a megabyte is cut", async () => {
  await using rig = createRig([scripted("fx", { tools: { a: {} }, padding: 1_000_000 })]);
  const [tool] = await rig.upstream.tools("fx", soon());
  expect(tool?.description.length).toBe(20_001);
});

test("UPS-10: tools that change under their names are reported", async () => {
  await using rig = createRig([scripted("fx", { tools: { a: {}, b: {} } })]);
  await rig.upstream.tools("fx", soon());
  const changed = { ...scripted("fx", { tools: { a: {}, c: {} }, padding: 1 }), fingerprint: "fx" };
  rig.discovery = { servers: [changed], problems: [] };
  await rig.upstream.refresh();

  await rig.upstream.tools("fx", soon());

  expect(rig.logged.join("")).toContain(
    "INFO sandpy: server has other tools than before server=fx added=1 changed=1 removed=1",
  );
});

test("UPS-17: two sessions that share a server get each its own answers", async () => {
  await using rig = createRig([scripted("fx", { tools: { echo: {} } })]);
  const sessions = [rig.upstream.openSession(), rig.upstream.openSession()];
  const calls = Array.from({ length: 200 }, (_, index) => ({ session: index % 2, index }));

  const answers = await Promise.all(
    calls.map((marks) =>
      sessions[marks.session]?.callTool({ server: "fx", tool: "echo", arguments: marks }, soon()),
    ),
  );

  expect(answers.map((answer) => answer?.["structuredContent"])).toEqual(calls);
});
