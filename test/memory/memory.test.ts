import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createStateDir, failureOf, openSession, signal } from "./helpers.ts";

describe("memories", () => {
  test("are kept in the format of the original system, with all their digits", async () => {
    using state = createStateDir();
    const stateDir = state.path;
    const value = '{"n": 123456789012345678901234567890, "f": 1.10, "s": "\\u00e9ü\\"}]"}';

    const info = await openSession(stateDir).saveMemory(
      { key: "notes", value, metadata: '{"a": [1.0]}' },
      signal,
    );

    const text = readFileSync(join(stateDir, "user_tools/memory/notes.json"), "utf8");
    expect(Object.keys(JSON.parse(text))).toEqual(["key", "value", "metadata", "created_at", "updated_at"]);
    expect(text).toContain(value);
    expect(info.created_at).toBe(info.updated_at);
    expect(await openSession(stateDir).loadMemory("notes", signal)).toEqual({ ...info, value });
  });

  test("keep their beginning and metadata when they are updated", async () => {
    using state = createStateDir();
    const session = openSession(state.path);
    await session.saveMemory({ key: "k", value: "1", metadata: '{"by":"me"}' }, signal);
    const { lease, memory } = await session.holdMemory("k", signal);
    const info = await session.commitMemory({ lease, value: "2" }, signal);
    expect([memory?.value, info.created_at, info.metadata]).toEqual([
      "1",
      memory?.created_at ?? 0,
      '{"by":"me"}',
    ]);
    expect((await session.loadMemory("k", signal))?.value).toBe("2");
    expect([await session.deleteMemory("k", signal), await session.deleteMemory("k", signal)]).toEqual([
      true,
      false,
    ]);
    expect((await session.listMemories(signal)).memories).toEqual([]);
  });

  test("of old files are found by the key inside, updated in place and listed once", async () => {
    using state = createStateDir();
    const stateDir = state.path;
    const folder = join(stateDir, "user_tools/memory");
    mkdirSync(folder, { recursive: true });
    const old = {
      key: "a/b",
      value: [1],
      metadata: null,
      created_at: 1699999999.25,
      updated_at: 1700000000,
      more: 1.5,
    };
    writeFileSync(join(folder, "a_b.json"), JSON.stringify(old, undefined, 2));
    const session = openSession(stateDir);

    await session.saveMemory({ key: "a_b", value: '"other"', metadata: null }, signal);
    const info = await session.saveMemory({ key: "a/b", value: "[2]", metadata: null }, signal);

    expect(info.created_at).toBe(1699999999.25);
    expect((await session.listMemories(signal)).memories.map(({ key }) => key)).toEqual(["a/b", "a_b"]);
    expect(JSON.parse(readFileSync(join(folder, "a_b.json"), "utf8"))).toMatchObject({
      key: "a/b",
      value: [2],
      more: 1.5,
    });
    expect((await session.loadMemory("a_b", signal))?.value).toBe('"other"');
    expect(readdirSync(folder).length).toBe(2);
  });

  test("NBR-1: are each caller's own", async () => {
    using state = createStateDir();
    const stateDir = state.path;
    const ann = { id: "ann@example.org", name: "Ann" };
    await openSession(stateDir).saveMemory({ key: "k", value: "1", metadata: null }, signal);
    await openSession(stateDir, {}, ann).saveMemory({ key: "k", value: "2", metadata: null }, signal);
    expect((await openSession(stateDir).loadMemory("k", signal))?.value).toBe("1");
    expect(
      await openSession(stateDir, {}, { id: "Ann@example.org", name: "" }).loadMemory("k", signal),
    ).toBeNull();
    expect((await openSession(stateDir, {}, ann).loadMemory("k", signal))?.value).toBe("2");
  });
});

describe("holds", () => {
  test("lapse, and then change nothing", async () => {
    using state = createStateDir();
    const stateDir = state.path;
    const session = openSession(stateDir, { leaseMs: 20 });
    const { lease } = await session.holdMemory("k", signal);
    await session.saveMemory({ key: "k", value: "1", metadata: null }, signal); // waits until it has lapsed
    expect(await failureOf(session.commitMemory({ lease, value: "2" }, signal))).toStartWith(
      "MEMORY_REFUSED: nothing was changed",
    );
    expect((await session.loadMemory("k", signal))?.value).toBe("1");
  });

  test("keep others waiting, but not for ever, and end with the session", async () => {
    using state = createStateDir();
    const stateDir = state.path;
    const [one, other] = [openSession(stateDir), openSession(stateDir, { waitMs: 50 })];
    await one.holdMemory("k", signal);
    expect(await failureOf(other.holdMemory("k", signal))).toStartWith(
      'MEMORY_UNAVAILABLE: the memory "k" is being updated',
    );
    await one.releaseAll();
    const { lease } = await other.holdMemory("k", signal);
    await other.release({ lease });
    expect(readdirSync(stateDir)).toEqual(["user_tools"]);
  });
});
