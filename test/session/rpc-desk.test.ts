import { describe, expect, test } from "bun:test";
import { answerRoom } from "../../src/core/answer-room.ts";
import { BridgeError } from "../../src/core/errors.ts";
import type { HostTools, ToolResult } from "../../src/kernel/host-tools.ts";
import type { OutgoingLine, RpcFrame } from "../../src/kernel/protocol.ts";
import { parseRpc } from "../../src/kernel/rpc.ts";
import { RpcDesk } from "../../src/session/rpc-desk.ts";
import { TimeLimit } from "../../src/session/time-limit.ts";
import { createHostMemory } from "../helpers/host-memory.ts";
import { NO_SESSIONS } from "../helpers/host-sessions.ts";
import { createHostTools } from "../helpers/host-tools.ts";
import { until } from "../helpers/until.ts";

type CallTool = HostTools["callTool"];

function createDesk(callTool: CallTool, budgetMs = 5000, memory = createHostMemory()): RpcDesk {
  return new RpcDesk({
    host: { tools: createHostTools({ callTool }), memory, sessions: NO_SESSIONS },
    parse: parseRpc,
    limit: () => new TimeLimit(budgetMs),
  });
}

function callFrame(id: number, timeout: number | null = null): RpcFrame {
  return {
    type: "rpc",
    id,
    method: "call_tool",
    params: { server: "fx", tool: "t", arguments: {}, timeout },
  };
}

async function ask(desk: RpcDesk, frame: RpcFrame, bytes = 100): Promise<OutgoingLine[]> {
  const replies: OutgoingLine[] = [];
  await desk.serve(frame, bytes, async (line) => {
    replies.push(line);
  });
  return replies;
}

/** A call that ends only when its signal aborts. */
const hang: CallTool = (_call, signal) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );

const result = (changes: Record<string, unknown>): ToolResult => ({ content: [], ...changes });

/** `reply`, or of which kind the error is. */
function kindOf([line]: readonly OutgoingLine[]): string | undefined {
  const frame = line?.[1] as
    | { readonly type: string; readonly error?: { readonly kind: string } }
    | undefined;
  return frame?.error?.kind ?? frame?.type;
}

describe("RpcDesk", () => {
  test("answers with the result as the server gave it", async () => {
    const desk = createDesk(async () => result({ structuredContent: { n: 1 }, _meta: { x: 1 } }));
    expect(await ask(desk, callFrame(3))).toEqual([
      ["k", { type: "reply", id: 3, value: { content: [], structuredContent: { n: 1 }, _meta: { x: 1 } } }],
    ]);
  });

  test.each<[string, ToolResult, string]>([
    [
      "its text",
      result({ isError: true, content: [{ type: "text", text: "no such repo" }] }),
      "no such repo",
    ],
    [
      "all its texts",
      result({
        isError: true,
        content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }],
      }),
      "a\nb",
    ],
    [
      "a useful message when it has none",
      result({ isError: true }),
      'the tool reported an error without a text: {"content":[],"isError":true}',
    ],
  ])("turns isError into a failure with %s", async (_title, value, message) => {
    const [reply] = await ask(
      createDesk(async () => value),
      callFrame(1),
    );
    expect(reply?.[1]).toEqual({
      type: "reply_error",
      id: 1,
      error: { kind: "tool", message, server: "fx", tool: "t" },
    });
  });

  test.each<[string, string, string]>([
    ["UPSTREAM_UNKNOWN_TOOL", "unknown", "no tool t"],
    ["UPSTREAM_NOT_USABLE", "denied", "not allowed"],
    ["APPROVAL_DENIED", "denied", "the user said no"],
    ["UPSTREAM_UNREACHABLE", "unreachable", "gone"],
    ["LIMIT_EXCEEDED", "limit", "too big"],
    ["INTERNAL", "internal", "oops"],
  ])("turns %s into kind %s", async (code, kind, message) => {
    const desk = createDesk(() =>
      Promise.reject(new BridgeError(code as "INTERNAL", message, { hint: "do this" })),
    );
    const [reply] = await ask(desk, callFrame(1));
    expect(reply?.[1]).toMatchObject({ error: { kind, message: `${message} (do this)` } });
  });

  test.each<[string, RpcFrame, number]>([
    ["the call's own timeout", callFrame(1, 0.02), 5000],
    ["what is left of the execution", callFrame(1), 20],
  ])("ends a call after %s", async (_title, frame, budgetMs) => {
    const [reply] = await ask(createDesk(hang, budgetMs), frame);
    expect(reply?.[1]).toMatchObject({ type: "reply_error", error: { kind: "timeout" } });
  });

  test("ends those that share a limit when it is over, each by its own name", async () => {
    const limit = new TimeLimit(20);
    const tools = createHostTools({
      callTool: hang,
      listServers: (signal) => hang({ server: "", tool: "", arguments: {} }, signal) as never,
    });
    const desk = new RpcDesk({
      host: { tools, memory: createHostMemory(), sessions: NO_SESSIONS },
      parse: parseRpc,
      limit: () => limit,
    });
    const frames: RpcFrame[] = [
      callFrame(1),
      { type: "rpc", id: 2, method: "servers", params: {} },
      callFrame(3),
    ];
    const replies = (await Promise.all(frames.map((frame) => ask(desk, frame)))).flat();
    expect(replies.map(([, frame]) => ("error" in frame ? frame.error.message : undefined))).toEqual([
      'the request "call_tool" took longer than it may',
      'the request "servers" took longer than it may',
      'the request "call_tool" took longer than it may',
    ]);
  });

  test("lets others take the place of a call while the user is asked, and counts no time then", async () => {
    const answered = Promise.withResolvers<void>();
    let asking = 0;
    const desk = createDesk(async ({ tool }, _signal, whileAsking) => {
      if (tool === "ask")
        await whileAsking?.(async () => {
          asking += 1;
          await answered.promise;
        });
      return result({});
    }, 200);
    const frame = (id: number): RpcFrame => ({
      ...callFrame(id, 0.1),
      params: { server: "fx", tool: "ask", arguments: {}, timeout: 0.1 },
    });
    const asked = Array.from({ length: 300 }, (_, id) => ask(desk, frame(id)));
    await until("all to ask", () => asking === 300, 5000);
    expect((await ask(desk, callFrame(1000)))[0]?.[1]).toMatchObject({ type: "reply" });
    await Bun.sleep(400);
    answered.resolve();

    const replies = (await Promise.all(asked)).flat();
    expect(replies.filter(([, { type }]) => type === "reply")).toHaveLength(300);
  });

  test("ends the calls under way when it abandons them, and serves later ones", async () => {
    const called = Promise.withResolvers<void>();
    let hanging = true;
    const desk = createDesk((call, signal) => {
      called.resolve();
      return hanging ? hang(call, signal) : Promise.resolve(result({}));
    });
    const first = ask(desk, callFrame(1));
    await called.promise;
    hanging = false;
    desk.abandon("the execution was stopped");
    expect((await first)[0]?.[1]).toMatchObject({
      error: { kind: "internal", message: "the execution was stopped" },
    });
    expect((await ask(desk, callFrame(2)))[0]?.[1]).toMatchObject({ type: "reply" });
  });

  test("answers nothing that a process asked which is gone", async () => {
    const called = Promise.withResolvers<void>();
    const desk = createDesk((call, signal) => {
      called.resolve();
      return hang(call, signal);
    });
    const first = ask(desk, callFrame(1));
    await called.promise;
    desk.abandon("the execution was stopped");
    desk.forget("Python was restarted");
    expect(await first).toEqual([]);
    expect(await ask(desk, { ...callFrame(1), method: "servers", params: {} })).toHaveLength(1);
  });

  test("EXH-14: an answer that is not small waits for room, within the time of its call", async () => {
    const held = answerRoom.open("another");
    await held.grow(64 * 1024 ** 2);
    const answer = result({ structuredContent: { text: "x".repeat(1024 ** 2) } });
    const desk = createDesk(async ({ tool }) => (tool === "t" ? answer : result({})));
    const [waiting, late] = [ask(desk, callFrame(1)), ask(desk, callFrame(2, 0.02))];
    expect(kindOf(await late)).toBe("timeout");
    const small = callFrame(3);
    expect(
      kindOf(
        await ask(
          createDesk(async () => result({})),
          small,
        ),
      ),
    ).toBe("reply");
    held.leave();
    expect(kindOf(await waiting)).toBe("reply");
    expect(answerRoom.usedBytes).toBe(0);
  });

  test("EXH-14: bounds the bytes of what is open", async () => {
    const gate = Promise.withResolvers<ToolResult>();
    const desk = createDesk(() => gate.promise);
    const mebibyte = 1024 * 1024;
    const asked = [ask(desk, callFrame(1), 100 * mebibyte), ask(desk, callFrame(2), 28 * mebibyte)];
    const [refused] = await ask(desk, callFrame(3), 1);
    expect(refused?.[1]).toMatchObject({ id: 3, error: { kind: "limit" } });
    gate.resolve(result({}));
    await Promise.all(asked);
    expect((await ask(desk, callFrame(4), 100 * mebibyte))[0]?.[1]).toMatchObject({ type: "reply" });
  });

  test("reads what is kept for one request of a session at a time, until its answer is taken", async () => {
    let reading = 0;
    let most = 0;
    const memory = createHostMemory({
      loadMemory: async () => {
        reading += 1;
        most = Math.max(most, reading);
        return null;
      },
    });
    const desks = Array.from({ length: 4 }, () => createDesk(hang, 5000, memory));
    const load = (id: number): RpcFrame => ({ type: "rpc", id, method: "memory_load", params: { key: "a" } });
    const gate = Promise.withResolvers<void>();
    const taken = desks.flatMap((desk) =>
      Array.from({ length: 100 }, (_, id) =>
        desk.serve(load(id), 100, async () => {
          await gate.promise;
          reading -= 1;
        }),
      ),
    );
    // Another kind of request need not wait for them.
    expect(
      await ask(
        createDesk(async () => result({})),
        callFrame(1),
      ),
    ).toHaveLength(1);
    expect(reading).toBe(2);
    gate.resolve();
    await Promise.all(taken);
    expect([most, reading]).toEqual([2, 0]);
  });

  test("refuses what was not read", async () => {
    const [reply] = await ask(createDesk(hang), { ...callFrame(5), fault: "too many values" });
    expect(reply?.[1]).toEqual({
      type: "reply_error",
      id: 5,
      error: { kind: "limit", message: "too many values", server: null, tool: null },
    });
  });

  test("bounds the refusals that wait for a sandbox which does not read", async () => {
    const desk = createDesk(hang);
    const gate = Promise.withResolvers<void>();
    let refusals = 0;
    const flood = Array.from({ length: 30_000 }, (_, id) =>
      desk.serve(callFrame(id), 129 * 1024 * 1024, () => {
        refusals += 1;
        return gate.promise;
      }),
    );
    gate.resolve();
    await Promise.all(flood);
    expect(refusals).toBe(10_000);
    expect(await ask(desk, callFrame(1), 129 * 1024 * 1024)).toHaveLength(1);
  });

  test.each<[string, Partial<RpcFrame>]>([
    ["an unknown method", { method: "read_file" }],
    ["a server that is no text", { params: { server: 1, tool: "t", arguments: {}, timeout: null } }],
    ["arguments that are no object", { params: { server: "s", tool: "t", arguments: [1], timeout: null } }],
    ["a name without end", { params: { server: "s".repeat(300), tool: "t", arguments: {}, timeout: null } }],
  ])("refuses %s", async (_title, changes) => {
    const [reply] = await ask(createDesk(hang), { ...callFrame(1), ...changes });
    expect(reply?.[1]).toMatchObject({ type: "reply_error", error: { kind: "internal" } });
  });

  test("EXH-13: bounds what is with the servers and what waits", async () => {
    let active = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const desk = createDesk(async () => {
      active += 1;
      most = Math.max(most, active);
      await gate.promise;
      active -= 1;
      return result({});
    });
    const asked = Array.from({ length: 10_000 }, (_, id) => ask(desk, callFrame(id)));
    const [refused] = await ask(desk, callFrame(10_001));
    expect(refused?.[1]).toMatchObject({ error: { kind: "limit" } });
    gate.resolve();
    const replies = (await Promise.all(asked)).flat();
    expect([replies.length, most, replies.every((line) => line[1].type === "reply")]).toEqual([
      10_000,
      256,
      true,
    ]);
  });
});
