import { describe, expect, test } from "bun:test";
import { type BridgeEvents, createBridgeEvents } from "../../../src/core/bridge-events.ts";
import { createFeed } from "../../../src/mcp/dashboard/feed.ts";

const ADA = { sessionId: "a1", caller: { id: "token:ada", name: "ada" } };
const BOB = { sessionId: "b1", caller: { id: "token:bob", name: "bob" } };

function run(events: BridgeEvents, executionId: string, code: string, who = ADA): void {
  events.emit({ kind: "execution-queued", executionId, code, ...who });
  events.emit({ kind: "execution-started", executionId, waitedMs: 1, ...who });
}

describe("the feed", () => {
  test("follows a session from its beginning to its end", () => {
    let now = 1000;
    const events = createBridgeEvents();
    const feed = createFeed(events, () => now);
    events.emit({ kind: "session-opened", ...ADA });
    expect(feed.session("a1")).toMatchObject({
      state: "no sandbox",
      executions: 0,
      openedAt: 1000,
      callerName: "ada",
    });
    events.emit({ kind: "execution-queued", executionId: "e1", code: "print(1)", ...ADA });
    expect(feed.session("a1")).toMatchObject({
      state: "waiting",
      queued: 1,
      execution: { code: "print(1)" },
    });
    events.emit({ kind: "sandbox-started", fromPool: true, durationMs: 5, ...ADA });
    now = 2000;
    events.emit({ kind: "execution-started", executionId: "e1", waitedMs: 1, ...ADA });
    events.emit({ kind: "execution-output", executionId: "e1", stream: "stdout", text: "1\n", ...ADA });
    events.emit({
      kind: "execution-output",
      executionId: "e0",
      stream: "stdout",
      text: "of another",
      ...ADA,
    });
    expect(feed.session("a1")).toMatchObject({ state: "running", queued: 0, executions: 1 });
    expect(feed.session("a1")?.execution?.output.pieces).toEqual([{ stream: "stdout", text: "1\n" }]);
    now = 3000;
    events.emit({ kind: "execution-ended", executionId: "e1", outcome: "ok", durationMs: 900, ...ADA });
    expect(feed.session("a1")).toMatchObject({
      state: "idle",
      activeAt: 3000,
      execution: { startedAt: 2000, outcome: "ok", durationMs: 900 },
    });
    events.emit({ kind: "sandbox-stopped", ...ADA });
    expect(feed.session("a1")?.state).toBe("no sandbox");
    events.emit({ kind: "session-closed", reason: "ended", ...ADA });
    events.emit({ kind: "sandbox-started", fromPool: false, durationMs: 5, ...ADA });
    expect(feed.sessions()).toEqual([]);
  });

  test("knows a session whose opening it did not hear", () => {
    const events = createBridgeEvents();
    const feed = createFeed(events);
    run(events, "e1", "1");
    expect(feed.sessions().map(({ id, state }) => [id, state])).toEqual([["a1", "running"]]);
  });

  test("keeps of code what a person reads", () => {
    const events = createBridgeEvents();
    const feed = createFeed(events);
    run(events, "e1", "x".repeat(10_000));
    expect(feed.session("a1")?.execution).toMatchObject({ code: "x".repeat(8192), codeLeftOut: 1808 });
  });

  test("keeps the calls of each caller apart, the newest first", () => {
    const events = createBridgeEvents();
    const feed = createFeed(events);
    const call = (tool: string, who: typeof ADA) =>
      events.emit({
        kind: "upstream-called",
        executionId: "e1",
        server: "notes",
        method: "tools/call",
        tool,
        outcome: "ok",
        startedAtMs: 1,
        durationMs: 2,
        ...who,
      });
    call("read", BOB);
    for (let nth = 0; nth < 500; nth++) call(`t${nth}`, ADA);
    expect(feed.calls("token:bob").map(({ tool }) => tool)).toEqual(["read"]);
    expect(feed.calls("token:ada").length).toBe(100);
    expect(feed.calls("token:ada")[0]?.tool).toBe("t499");
    expect(feed.calls(undefined).length).toBe(100);
    expect(feed.calls("token:eve")).toEqual([]);
  });

  test("stays within bounds whatever is opened and queued", () => {
    const events = createBridgeEvents();
    const feed = createFeed(events);
    for (let nth = 0; nth < 3000; nth++) {
      events.emit({ kind: "session-opened", sessionId: `s${nth}`, caller: ADA.caller });
      events.emit({ kind: "execution-queued", executionId: `e${nth}`, code: "1", ...BOB });
    }
    expect(feed.sessions().length).toBe(1024);
    expect(feed.session("b1")?.queued ?? 256).toBe(256);
  });

  test("hears nothing after its end", () => {
    const events = createBridgeEvents();
    const feed = createFeed(events);
    feed.close();
    expect(events.isHeard).toBe(false);
  });
});
