import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  createClock,
  createJournal,
  createRig,
  define,
  faultOf,
  livingWith,
  SERVERS,
  scripted,
  soon,
  until,
  wrapped,
} from "./harness.ts";

test("uses started at once share one start", async () => {
  using journal = createJournal();
  await using rig = createRig([scripted("fx", { journal: journal.path, tools: { a: {} } })]);

  await Promise.all([
    rig.upstream.connect("fx", soon()),
    rig.upstream.tools("fx", soon()),
    rig.upstream.callTool({ server: "fx", tool: "a", arguments: {} }, soon()),
  ]);

  expect(journal.lines().filter((line) => line === "boot").length).toBe(1);
  expect(await rig.upstream.listServers(soon())).toEqual([
    { name: "fx", alias: "fx", description: "", status: "connected", tools: 1 },
  ]);
});

test("tells of each server how it is and why, without starting it", async () => {
  using journal = createJournal();
  const failing = scripted("broken", { bootExit: 1, stderr: "no such file" });
  const off = { ...define("off", {}), availability: { kind: "disabled", reason: "by its file" } } as const;
  await using rig = createRig([
    scripted("fx", { tools: { a: {} } }),
    failing,
    scripted("rest", { journal: journal.path }),
    off,
  ]);
  await rig.upstream.tools("fx", soon());
  await faultOf(rig.upstream.connect("broken", soon()));

  const health = await rig.upstream.health();

  expect(health).toEqual([
    { name: "fx", status: "connected", reason: null, tools: 1 },
    { name: "broken", status: "failed", reason: expect.stringContaining("no such file"), tools: null },
    { name: "rest", status: "idle", reason: null, tools: null },
    { name: "off", status: "disabled", reason: expect.stringContaining("by its file"), tools: null },
  ]);
  expect(journal.lines()).toEqual([]);
});

test("UPS-6: a slow server holds up no other", async () => {
  await using rig = createRig([scripted("slow", { dead: true }), scripted("fx", {})]);
  const stop = new AbortController();
  const slow = faultOf(rig.upstream.connect("slow", stop.signal));

  await rig.upstream.connect("fx", soon());

  stop.abort();
  expect((await slow).code).toBe("CANCELLED");
});

describe("a server that fails again and again", () => {
  test("is started after pauses that double, and refused during a long one", async () => {
    using journal = createJournal();
    const clock = createClock();
    const failing = scripted("fx", { bootExit: 1, stderr: "no", journal: journal.path });
    await using rig = createRig([failing], { clock });
    const starts = () => journal.lines().filter((line) => line === "boot").length;
    for (let round = 0; round < 4; round++) await faultOf(rig.upstream.connect("fx", soon()));
    expect([starts(), clock.slept]).toEqual([4, [250, 500, 1000]]);

    const refused = await faultOf(rig.upstream.connect("fx", soon()));
    expect(refused.hint).toBe(
      'Correct its definition "fx" in ~/MCPs/all.json. It failed 4 times in a row and is started again at the earliest in 2 s.',
    );
    expect(starts()).toBe(4);

    clock.time += 2000;
    await faultOf(rig.upstream.connect("fx", soon()));
    expect(starts()).toBe(5);
  });

  test("is forgiven when a call succeeds", async () => {
    const clock = createClock();
    await using rig = createRig([scripted("fx", { tools: { die: { exit: 1 }, ok: {} } })], { clock });
    const call = (tool: string) => rig.upstream.callTool({ server: "fx", tool, arguments: {} }, soon());
    for (let round = 0; round < 3; round++) {
      await faultOf(call("die"));
      await call("ok");
    }

    expect(clock.slept).toEqual([250, 250, 250]);
  });
});

describe("closing", () => {
  test("UPS-14: ends a server behind a wrapper, even one that ignores everything", async () => {
    using journal = createJournal();
    const rig = createRig([wrapped("fx", { stubborn: true, journal: journal.path, tools: { pid: {} } })]);
    await rig.upstream.connect("fx", soon());
    expect(livingWith(journal.path).length).toBe(2);

    await rig.upstream.close();

    await until(() => livingWith(journal.path).length === 0);
    expect(journal.lines()).toContain("SIGTERM");
  });

  test("LEFT-3: waits for what a server left that died by itself", async () => {
    using journal = createJournal();
    const family = `sh -c "trap '' TERM HUP; sleep 600 & wait" ${journal.path} & exec "$0" "$@"`;
    const program = [process.execPath, join(SERVERS, "scripted-server.ts")];
    const script = JSON.stringify({ tools: { die: { exit: 1 } } });
    const rig = createRig([define("fx", { command: "/bin/sh", args: ["-c", family, ...program, script] })]);
    await faultOf(rig.upstream.callTool({ server: "fx", tool: "die", arguments: {} }, soon()));
    expect(livingWith(journal.path).length).toBe(1);

    await rig.upstream.close();

    await until(() => livingWith(journal.path).length === 0, 500);
  });

  test.each([
    ["connected", {}],
    ["still starting", { dead: true }],
  ] as const)(
    "is not needed: an exit of the bridge takes servers along that are %s",
    async (_state, script) => {
      using journal = createJournal();
      const definition = wrapped("fx", { stubborn: true, journal: journal.path, ...script });
      const program = join(SERVERS, "exit-without-close.ts");
      const when = "dead" in script ? [journal.path] : [];

      const bridge = Bun.spawnSync([process.execPath, program, JSON.stringify(definition), ...when]);

      expect([bridge.exitCode, bridge.stderr.toString()]).toEqual([0, ""]);
      expect(journal.lines()).toContain("boot");
      await until(() => livingWith(journal.path).length === 0);
    },
  );

  test("ends many servers at once, not one after the other", async () => {
    const servers = Array.from({ length: 4 }, (_, index) => scripted(`fx${index}`, { stubborn: true }));
    const rig = createRig(servers);
    await Promise.all(servers.map(({ name }) => rig.upstream.connect(name, soon())));
    const started = performance.now();

    await rig.upstream.close();

    expect(performance.now() - started).toBeLessThan(3000); // one takes 1.2 s
  });

  test("ends a server that is still starting, and refuses later uses", async () => {
    using journal = createJournal();
    const rig = createRig([scripted("fx", { dead: true, journal: journal.path })]);
    const starting = faultOf(rig.upstream.connect("fx", soon()));
    await until(() => journal.lines().includes("boot"));

    await rig.upstream.close();

    const shutdown = { code: "CANCELLED", message: "the bridge is shutting down", hint: undefined };
    expect(await starting).toEqual(shutdown);
    expect(await faultOf(rig.upstream.connect("fx", soon()))).toEqual(shutdown);
  });
});

describe("the definitions", () => {
  test("are read once, and again for a name that is not among them", async () => {
    await using rig = createRig([scripted("one", {})]);
    expect((await rig.upstream.listServers(soon())).map(({ name }) => name)).toEqual(["one"]);
    rig.discovery = { ...rig.discovery, servers: [...rig.discovery.servers, scripted("two-b", {})] };
    expect((await rig.upstream.listServers(soon())).map(({ name }) => name)).toEqual(["one"]);

    await rig.upstream.connect("two_b", soon());

    expect((await rig.upstream.listServers(soon())).map(({ name, status }) => [name, status])).toEqual([
      ["one", "idle"],
      ["two-b", "connected"],
    ]);
  });

  test("are named when an unknown server is asked for", async () => {
    const servers = Array.from({ length: 12 }, (_, index) => define(`server-${index}`, {}));
    await using rig = createRig(servers);

    expect(await faultOf(rig.upstream.connect("servr-3", soon()))).toEqual({
      code: "UPSTREAM_UNKNOWN_SERVER",
      message:
        'no server is called "servr-3": the servers are "server-0", "server-1", "server-2", "server-3", "server-4", "server-5", "server-6", "server-7", "server-8", "server-9" and 2 more. Did you mean "server-3"?',
      hint: "Use one of these names. The user can define others in a file of ~/MCPs.",
    });
  });

  test("that are missing are said to be missing, and perhaps why", async () => {
    await using rig = createRig([]);
    rig.discovery = {
      servers: [],
      problems: [
        { where: "/a.json:1:2", message: "is not valid JSON" },
        { where: "/b.json", message: "is left out", isNote: true },
      ],
    };

    expect((await faultOf(rig.upstream.tools("x", soon()))).message).toBe(
      'no server is called "x": none is configured. One definition has a fault and may be missing for it.',
    );
    await faultOf(rig.upstream.tools("x", soon()));
    expect(rig.logged).toEqual([
      "WARNING sandpy: configuration: /a.json:1:2: is not valid JSON\n",
      "DEBUG sandpy: configuration: /b.json: is left out\n",
    ]);
  });

  test("that changed stop the old server on a refresh", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { journal: journal.path })]);
    await rig.upstream.connect("fx", soon());
    rig.discovery = {
      servers: [scripted("fx", { journal: journal.path, tools: { added: {} } })],
      problems: [],
    };

    await rig.upstream.refresh();

    expect(await rig.upstream.listServers(soon())).toMatchObject([{ status: "idle" }]);
    expect((await rig.upstream.tools("fx", soon())).map(({ name }) => name)).toEqual(["added"]);
  });
});
