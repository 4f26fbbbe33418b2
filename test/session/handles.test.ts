import { afterEach, describe, expect, test } from "bun:test";
import { createSessionRef } from "../../src/core/bridge-events.ts";
import type { Caller } from "../../src/core/caller.ts";
import type { HostSessions } from "../../src/kernel/host-sessions.ts";
import { SessionHandles, type SessionLimits } from "../../src/session/handles.ts";
import type { Session } from "../../src/session/session.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { until } from "../helpers/until.ts";

const ANN: Caller = { id: "ann", name: "Ann" };
const BOB: Caller = { id: "bob", name: "Bob" };
const UNKNOWN = (handle: string) => `there is no session ${JSON.stringify(handle)}; nothing was run`;

const made: SessionHandles[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((handles) => handles.close()));
});

/** Sessions that run nothing: the registry must never look into them. */
function create(limits: Partial<SessionLimits> = {}) {
  const closed: string[] = [];
  const ports = new Map<string, HostSessions>();
  let nowMs = 0;
  const handles = new SessionHandles({
    limits: { total: 10, perCaller: 3, ttlMs: 60_000, ...limits },
    open(caller, sessions) {
      const ref = createSessionRef(caller);
      ports.set(ref.sessionId, sessions);
      const close = async (reason = "ended") => void closed.push(reason);
      const session: Session = {
        ref,
        hasSandbox: true,
        execute: () => Promise.reject(new Error("the test runs nothing")),
        filesBefore: () => Promise.reject(new Error("no files in this test")),
        filesAfter: async () => undefined,
        measure: async () => undefined,
        interrupt: () => false,
        reset: async () => undefined,
        close,
        [Symbol.asyncDispose]: close,
      };
      return session;
    },
    log: createMemoryLog(),
    now: () => nowMs,
  });
  made.push(handles);
  const mint = (caller = ANN, isOwned = false) => handles.mint(caller, { isOwned });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const portOf = ({ session }: { session: Session }) => ports.get(session.ref.sessionId);
  return { handles, mint, pass, closed, portOf };
}

const faultOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe("a handle", () => {
  test("cannot be guessed, and leads its caller to the session", () => {
    const { handles, mint } = create({ perCaller: 10 });
    const minted = Array.from({ length: 10 }, () => mint());
    expect(new Set(minted.map(({ handle }) => handle)).size).toBe(10);
    for (const { handle, session } of minted) {
      expect(handle).toMatch(/^s_[\w-]{32}$/);
      expect(handles.find(ANN, handle).session).toBe(session);
    }
  });

  test.each(["default", "s_", `s_${"x".repeat(32)}`, "__proto__", "x".repeat(100)])(
    "is refused when it is %p",
    (handle) => {
      const { handles } = create();
      const shown = handle.length > 48 ? `${handle.slice(0, 48)}…` : handle;
      expect(faultOf(() => handles.find(ANN, handle))).toMatchObject({
        code: "SESSION_UNKNOWN",
        message: UNKNOWN(shown),
        hint: expect.stringContaining('pass "new"'),
      });
    },
  );

  test("CLI-18: of somebody else is refused in the words for one that never was", async () => {
    const { handles, mint } = create();
    const { handle } = mint();
    expect(faultOf(() => handles.find(BOB, handle))).toMatchObject({ message: UNKNOWN(handle) });
    await expect(handles.end(BOB, handle)).rejects.toMatchObject({
      message: UNKNOWN(handle).replace("run", "ended"),
    });
    expect(handles.list(BOB)).toEqual([]);
    expect(handles.find(ANN, handle).handle).toBe(handle);
  });
});

describe("a session", () => {
  test("ends when its time without a run is over, but not one that is owned", () => {
    const { handles, mint, pass, closed } = create();
    const own = mint(ANN, true);
    const other = mint();
    pass(59_999);
    expect(handles.find(ANN, other.handle).handle).toBe(other.handle);
    pass(1);
    expect(faultOf(() => handles.find(ANN, other.handle))).toMatchObject({ code: "SESSION_UNKNOWN" });
    expect(handles.find(ANN, own.handle).handle).toBe(own.handle);
    expect(closed).toEqual(["expired"]);
  });

  test("does not end while it runs, and begins its time anew after", async () => {
    const { handles, mint, pass } = create();
    const { handle } = mint();
    const gate = Promise.withResolvers<void>();
    const running = handles.use(handle, () => gate.promise);
    pass(120_000);
    expect(handles.list(ANN)).toMatchObject([{ state: "running", age: 120, idle: 0, runs: 1 }]);
    gate.resolve();
    await running;
    pass(1000);
    expect(handles.list(ANN)).toMatchObject([{ state: "idle", age: 121, idle: 1, runs: 1 }]);
  });

  test("that ends itself ends when its run is over", async () => {
    const { handles, mint, portOf, closed } = create();
    const minted = mint();
    await handles.use(minted.handle, async () => {
      expect(await portOf(minted)?.endSession(minted.handle)).toBe(false);
      expect(portOf(minted)?.listSessions()).toMatchObject([{ session: minted.handle, current: true }]);
      expect(handles.list(ANN)).toEqual([]);
      expect(closed).toEqual([]);
      expect(faultOf(() => handles.find(ANN, minted.handle))).toMatchObject({ code: "SESSION_UNKNOWN" });
    });
    await until("the session ends", () => closed.length === 1);
  });

  test("sees itself among those of its caller", () => {
    const { mint, portOf } = create();
    const one = mint();
    const two = mint();
    mint(BOB);
    const seen = portOf(two)
      ?.listSessions()
      .map(({ session, current }) => ({ session, current }));
    expect(seen).toHaveLength(2);
    expect(seen).toContainEqual({ session: one.handle, current: false });
    expect(seen).toContainEqual({ session: two.handle, current: true });
  });
});

describe("room", () => {
  test("is made by ending the oldest session that nobody came back to", () => {
    const { handles, mint, pass, closed } = create();
    const kept = mint();
    handles.find(ANN, kept.handle);
    pass(10);
    const oldest = mint();
    pass(10);
    const newer = mint();
    mint();
    expect(closed).toEqual(["forgotten"]);
    expect(faultOf(() => handles.find(ANN, oldest.handle))).toMatchObject({ code: "SESSION_UNKNOWN" });
    expect(handles.find(ANN, kept.handle).handle).toBe(kept.handle);
    expect(handles.find(ANN, newer.handle).handle).toBe(newer.handle);
  });

  test("EXH-17: is refused to a caller whose sessions are all in use, with those that it could end", () => {
    const { handles, mint, pass, closed } = create();
    const minted = [mint(), mint(), mint()];
    for (const { handle } of minted) handles.find(ANN, handle);
    pass(5000);
    const fault = faultOf(() => mint());
    expect(fault).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "you have 3 sessions, and may have 3",
      hint: expect.stringContaining(`${minted[0]?.handle} (idle for 5 s)`),
    });
    expect(closed).toEqual([]);
    expect(mint(BOB).handle).toStartWith("s_");
  });

  test("is not made by what another caller may still come back to", () => {
    const { handles, mint, closed } = create({ total: 2 });
    const one = mint();
    mint();
    expect(faultOf(() => mint(BOB))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(handles.find(ANN, one.handle).handle).toBe(one.handle);
    expect(closed).toEqual([]);
  });

  test("is taken by a session until its last run is over", async () => {
    const { handles, mint } = create({ perCaller: 1 });
    const { handle } = mint();
    const gate = Promise.withResolvers<void>();
    const running = handles.use(handle, () => gate.promise);
    await handles.end(ANN, handle);
    expect(faultOf(() => mint())).toMatchObject({ code: "LIMIT_EXCEEDED" });
    gate.resolve();
    await running;
    expect(mint().handle).toStartWith("s_");
  });

  test("of the server is shared, and a caller never loses a session that it uses", () => {
    const { handles, mint, closed } = create({ total: 2 });
    const ann = mint();
    handles.find(ANN, ann.handle);
    mint(BOB, true);
    expect(faultOf(() => mint(BOB))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "the server has 2 sessions, and may have 2",
    });
    expect(closed).toEqual([]);
  });
});

test("closing ends all sessions, and refuses new ones", async () => {
  const { handles, mint, closed } = create();
  mint();
  mint(BOB, true);
  await Promise.all([handles.close(), handles.close()]);
  expect(closed).toEqual(["shutdown", "shutdown"]);
  expect(faultOf(() => mint())).toMatchObject({ code: "SESSION_CLOSED" });
});
