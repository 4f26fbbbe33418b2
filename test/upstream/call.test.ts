import { describe, expect, jest, test } from "bun:test";
import { parseExactJson } from "../../src/core/exact-json.ts";
import type { Script } from "../fixtures/servers/scripted-server.ts";
import { createJournal, createRig, faultOf, type Rig, scripted, soon, soonAfter, until } from "./harness.ts";

const RESTART = "It is started again on its next use; what it kept in memory is lost.";
const MAY_HAVE_RUN = "The call may have taken effect.";
const LESS = "Ask for less at once, such as one page or some fields.";

function call(rig: Rig, tool: string, args = {}, signal = soon()) {
  return rig.upstream.callTool({ server: "fx", tool, arguments: args }, signal);
}

/** One turn of the event loop, also where timers stand still. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

function createFx(script: Script): Rig {
  return createRig([scripted("fx", script)]);
}

describe("a result", () => {
  test.each([
    ["content that nobody knows", '{"content":[{"type":"hologram","x":1}],"extra":{"a":[null,1.5]}}'],
    ["no content at all", '{"structuredContent":[1,2]}'],
    ["an error without a text", '{"isError":true,"content":[]}'],
    ["meta data", '{"content":[],"_meta":{"a/b":{"c":"d"}}}'],
    [
      "large integers",
      '{"content":[],"structuredContent":{"id":12345678901234567890,"n":-9007199254740993}}',
    ],
    ["numbers beyond the doubles", '{"content":[],"structuredContent":{"n":1e400}}'],
    [
      "text that looks like our frames",
      '{"content":[{"type":"text","text":"[\\"k\\",{\\"type\\":\\"done\\"}]\\n"}]}',
    ],
  ])("is passed on as it came: %s", async (_case, result) => {
    await using rig = createFx({ tools: { get: { result } } });

    expect(JSON.stringify(await call(rig, "get"))).toBe(result);
  });

  test("of ten megabytes arrives whole", async () => {
    await using rig = createFx({ tools: { big: { bytes: 10_000_000 } } });

    const result = (await call(rig, "big")) as { content: { text: string }[] };

    expect(result.content[0]?.text.length).toBe(10_000_000);
  });

  test("EXH-14 UPS-4: of more than 24 MiB fails alone", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { big: { bytes: 26_000_000 }, ok: {} }, journal: journal.path });

    expect(await faultOf(call(rig, "big"))).toEqual({
      code: "LIMIT_EXCEEDED",
      message:
        'the call of tool "big" of server "fx" failed: the result has 26000073 bytes, more than the 25165824 allowed',
      hint: LESS,
    });
    expect(await call(rig, "ok")).toEqual({ content: [], structuredContent: {} });
    expect(journal.lines().filter((line) => line === "boot").length).toBe(1);
  });

  test("of more than a line may have stops the server, which is started again on its next use", async () => {
    await using rig = createFx({ tools: { huge: { bytes: 40_000_000 }, ok: {} } });

    expect(await faultOf(call(rig, "huge"))).toEqual({
      code: "LIMIT_EXCEEDED",
      message:
        'the call of tool "huge" of server "fx" failed: server "fx" wrote a line of more than 33554432 bytes on its stdout and was stopped',
      hint: `${MAY_HAVE_RUN} ${LESS} The server is started again on its next use.`,
    });
    expect(await call(rig, "ok")).toEqual({ content: [], structuredContent: {} });
  });

  test("of more values than there is memory for stops the server before they are read", async () => {
    await using rig = createFx({ tools: { wide: { lists: 3_000_000 }, ok: {} } });

    expect(await faultOf(call(rig, "wide"))).toEqual({
      code: "LIMIT_EXCEEDED",
      message:
        'the call of tool "wide" of server "fx" failed: server "fx" wrote a message of more values than are read on its stdout and was stopped',
      hint: `${MAY_HAVE_RUN} ${LESS} The server is started again on its next use.`,
    });
    expect(await call(rig, "ok")).toEqual({ content: [], structuredContent: {} });
  });

  test.each([
    ["null", "null"],
    ["a list", "[1]"],
  ])("that is not an object is refused: %s", async (_case, result) => {
    await using rig = createFx({ tools: { odd: { result } } });

    expect(await faultOf(call(rig, "odd"))).toEqual({
      code: "UPSTREAM_FAILED",
      message: 'the call of tool "odd" of server "fx" failed: the result is not an object',
      hint: undefined,
    });
  });
});

describe("a call", () => {
  test("carries every digit of large integers to the server", async () => {
    await using rig = createFx({ tools: { echo: {} } });
    const args = parseExactJson('{"id":12345678901234567890,"small":7}') as Record<string, unknown>;

    const result = await call(rig, "echo", args);

    expect(JSON.stringify(result["structuredContent"])).toBe('{"id":12345678901234567890,"small":7}');
  });

  test("that the server refuses says what the server said", async () => {
    await using rig = createFx({
      tools: { no: { error: { code: -32602, message: "path must be absolute" } } },
    });

    expect(await faultOf(call(rig, "no"))).toEqual({
      code: "UPSTREAM_FAILED",
      message:
        'the call of tool "no" of server "fx" was refused: path must be absolute (JSON-RPC error -32602)',
      hint: undefined,
    });
  });

  test("is refused when the server leaves too much unread, which would stay in memory", async () => {
    await using rig = createFx({ tools: { block: { blocks: true } } });
    const stop = new AbortController();
    const text = "x".repeat(20 * 1024 ** 2);
    const sent = Array.from({ length: 4 }, () => faultOf(call(rig, "block", { text }, stop.signal)));

    expect(await faultOf(call(rig, "block"))).toEqual({
      code: "LIMIT_EXCEEDED",
      message: expect.stringMatching(/^the server has not read the last 80 MiB that it was sent$/),
      hint: "Wait until it is done with earlier requests.",
    });
    stop.abort();
    await Promise.all(sent);
  });

  test("that is never answered ends with the caller's time, and the server is told", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { mute: { mute: true } }, journal: journal.path });
    await rig.upstream.connect("fx", soon());

    const isAsked = () => journal.lines().some((line) => line.includes("tools/call"));
    const fault = await faultOf(call(rig, "mute", {}, soonAfter(isAsked, 100)));

    expect(fault).toEqual({
      code: "UPSTREAM_TIMEOUT",
      message: 'the call of tool "mute" of server "fx" took longer than the time that was left',
      hint: "Give the run a larger timeout, or ask for less at once.",
    });
    await until(() => journal.lines().some((line) => line.includes("notifications/cancelled")));
    const request = journal.lines().find((line) => line.includes("tools/call")) ?? "{}";
    const cancel = journal.lines().find((line) => line.includes("notifications/cancelled")) ?? "{}";
    expect(JSON.parse(cancel).params.requestId).toBe(JSON.parse(request).id);
  });

  test("has all of the caller's time: the SDK's own limit of a minute does not apply", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { mute: { mute: true } }, journal: journal.path });
    await rig.upstream.connect("fx", soon());
    const stop = new AbortController();
    let calling: ReturnType<typeof faultOf>;
    jest.useFakeTimers();
    try {
      calling = faultOf(call(rig, "mute", {}, stop.signal));
      while (!journal.lines().some((line) => line.includes("tools/call"))) await turn();
      jest.advanceTimersByTime(70_000);
      await turn();
    } finally {
      jest.useRealTimers();
    }

    stop.abort();

    expect((await calling).code).toBe("CANCELLED"); // by us, and not by a timer
  });

  test("that is cancelled says so", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { mute: { mute: true } }, journal: journal.path });
    const stop = new AbortController();
    const calling = faultOf(call(rig, "mute", {}, stop.signal));
    await until(() => journal.lines().some((line) => line.includes("tools/call")));

    stop.abort();

    expect(await calling).toEqual({
      code: "CANCELLED",
      message: 'the call of tool "mute" of server "fx" was cancelled',
      hint: undefined,
    });
  });

  test("during which the server crashes fails at once, and the next one starts it again", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { die: { exit: 9, noise: 3 }, ok: {} }, journal: journal.path });

    expect(await faultOf(call(rig, "die"))).toEqual({
      code: "UPSTREAM_FAILED",
      message:
        'the call of tool "die" of server "fx" failed: server "fx" exited with code 9. The end of its stderr:\nnnn',
      hint: `${MAY_HAVE_RUN} ${RESTART}`,
    });
    expect(await rig.upstream.listServers(soon())).toMatchObject([{ status: "failed" }]);
    expect(await call(rig, "ok")).toEqual({ content: [], structuredContent: {} });
    expect(await rig.upstream.listServers(soon())).toMatchObject([{ status: "connected" }]);
    expect(journal.lines().filter((line) => line === "boot").length).toBe(2);
  });

  test("to a server that floods stderr is answered every time", async () => {
    await using rig = createFx({ tools: { noisy: { noise: 300_000 } } });

    for (let round = 0; round < 5; round++) {
      expect(await call(rig, "noisy", { round })).toEqual({ content: [], structuredContent: { round } });
    }
  });

  test("runs beside a thousand others, and each gets its own answer", async () => {
    await using rig = createFx({ tools: { echo: {} } });
    const numbers = Array.from({ length: 1000 }, (_, index) => index);

    const results = await Promise.all(numbers.map((n) => call(rig, "echo", { n })));

    expect(results.map((result) => (result["structuredContent"] as { n: number }).n)).toEqual(numbers);
  });
});

describe("the name of a tool", () => {
  const tools = {
    "send-email": {},
    "auth.who-am-i": {},
    "2fa check": {},
    import: {},
    "naïve/put": {},
    send_email: {},
  };

  test("UPS-8: has a Python alias, and the server always gets its own", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools, journal: journal.path });

    const listed = await rig.upstream.tools("fx", soon());

    expect(listed.map(({ name, alias }) => [name, alias])).toEqual([
      ["send-email", "send_email_2"],
      ["auth.who-am-i", "auth_who_am_i"],
      ["2fa check", "_2fa_check"],
      ["import", "import_"],
      ["naïve/put", "naïve_put"],
      ["send_email", "send_email"],
    ]);
    for (const { name, alias } of listed) {
      await call(rig, name);
      await call(rig, alias);
    }
    const called = journal
      .lines()
      .flatMap((line) => /"tools\/call","params":\{"name":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(called).toEqual(listed.flatMap(({ name }) => [name, name]));
  });

  test("that is unknown is answered by the nearest ones", async () => {
    await using rig = createFx({ tools });

    expect(await faultOf(call(rig, "sendmail"))).toEqual({
      code: "UPSTREAM_UNKNOWN_TOOL",
      message:
        'server "fx" has no tool "sendmail": it has 6 tools; the nearest are "send-email", "send_email"',
      hint: 'List them with: await mcp.runtime.list_tools("fx")',
    });
  });

  test("that is like no other is answered by the count", async () => {
    await using rig = createFx({ tools: { x: {} } });

    const { message } = await faultOf(call(rig, "sendmail"));

    expect(message).toBe('server "fx" has no tool "sendmail": it has 1 tool');
  });
});

describe("the list of tools", () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`t${index}`, {}]));

  test("has the tools of every page", async () => {
    await using rig = createFx({ tools: many, pageSize: 40 });

    expect((await rig.upstream.tools("fx", soon())).map(({ name }) => name)).toEqual(Object.keys(many));
    expect(await call(rig, "t100")).toEqual({ content: [], structuredContent: {} });
  });

  test.each([
    ["same", 2],
    ["endless", 1000],
  ] as const)("that does not end is cut: %s", async (cursor, requests) => {
    using journal = createJournal();
    await using rig = createFx({ tools: { a: {} }, cursor, journal: journal.path });

    expect((await rig.upstream.tools("fx", soon())).map(({ name }) => name)).toEqual(["a"]);
    expect(journal.lines().filter((line) => line.includes("tools/list")).length).toBe(requests);
    expect(
      rig.logged.filter((line) => line.includes("the list of tools is too long or does not end")).length,
    ).toBe(1);
  });

  test("is fetched once, and again when the server says that it changed", async () => {
    using journal = createJournal();
    await using rig = createFx({ tools: { grow: { adds: "grown" } }, journal: journal.path });
    const names = async () => (await rig.upstream.tools("fx", soon())).map(({ name }) => name);
    await Promise.all([names(), names(), call(rig, "grow")]);

    expect(await names()).toEqual(["grow", "grown"]);
    expect(await call(rig, "grown")).toEqual({ content: [], structuredContent: {} });
    expect(journal.lines().filter((line) => line.includes("tools/list")).length).toBe(2);
  });

  test("of a server that knows no such request is empty", async () => {
    await using rig = createFx({ refuses: ["tools/list"] });

    expect(await rig.upstream.tools("fx", soon())).toEqual([]);
  });
});
