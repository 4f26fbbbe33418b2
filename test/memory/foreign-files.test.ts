import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createStateDir, failureOf, openSession, save, signal } from "./helpers.ts";

const ORIGINAL = join(import.meta.dir, "../fixtures/original-state");

describe("a directory of the original system", () => {
  function copy() {
    const state = createStateDir();
    cpSync(ORIGINAL, state.path, { recursive: true });
    return state;
  }

  test("is listed and read as it is, each key once", async () => {
    using state = copy();
    const before = readdirSync(state.memories).sort();
    const session = openSession(state.path);
    const { memories, unreadable } = await session.listMemories(signal);
    expect(unreadable).toEqual([]);
    expect(memories.map(({ key }) => key)).toEqual(
      ["a/b", "Überblick 2024", "project_notes", "user.prefs"].sort(),
    );
    expect(JSON.parse((await session.loadMemory("a/b", signal))?.value ?? "")).toEqual(["slash"]);
    const prefs = await session.loadMemory("user.prefs", signal);
    expect(prefs).toMatchObject({
      created_at: 1730000000.123456,
      updated_at: 1730000100.5,
      metadata: '{\n    "source": "chat"\n  }',
    });
    expect(prefs?.value).toContain("12345678901234567890");
    const { lease, source } = await session.holdTools(signal);
    await session.release({ lease });
    expect(source).toStartWith("# user_tools.py");
    expect(readdirSync(state.memories).sort()).toEqual(before);
  });

  test("KEP-10: is changed in place, and keeps what this version does not know", async () => {
    using state = copy();
    const before = readdirSync(state.memories).sort();
    const session = openSession(state.path);
    for (const key of ["a/b", "Überblick 2024", "project_notes", "user.prefs"])
      await save(session, key, { new: key });
    expect(readdirSync(state.memories).sort()).toEqual(before);
    const text = readFileSync(join(state.memories, "user_prefs.json"), "utf8");
    expect(text).toContain('"created_at": 1730000000.123456');
    expect(JSON.parse(text)).toMatchObject({
      key: "user.prefs",
      value: { new: "user.prefs" },
      ttl: 3600,
      schema: { v: [2] },
    });
    await save(session, "a_b", "its own");
    expect(JSON.parse((await session.loadMemory("a/b", signal))?.value ?? "")).toEqual({ new: "a/b" });
    expect(await session.deleteMemory("a/b", signal)).toBe(true);
    expect((await session.loadMemory("a_b", signal))?.value).toBe('"its own"');
    expect(await session.loadMemory("a/b", signal)).toBeNull();
  });

  test("is made private when something is saved", async () => {
    using state = copy();
    for (const folder of [join(state.path, "user_tools"), state.memories]) chmodSync(folder, 0o755);
    await save(openSession(state.path), "project_notes", 1);
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect([mode(join(state.path, "user_tools")), mode(state.memories)]).toEqual([0o700, 0o700]);
    expect(mode(join(state.memories, "project_notes.json"))).toBe(0o600);
  });
});

describe("what lies among memories and is none", () => {
  const secret = (path: string) => join(path, "secret");
  const cases: readonly (readonly [
    title: string,
    make: (path: string, state: string) => void,
    reason: string,
  ])[] = [
    ["bad JSON", (path) => writeFileSync(path, '{"key": "x", "value": '), "is not a JSON object"],
    ["an empty file", (path) => writeFileSync(path, ""), "is not a JSON object"],
    ["a list", (path) => writeFileSync(path, "[1]"), "is not a JSON object"],
    ["a file without a key", (path) => writeFileSync(path, '{"value": 1}'), 'has no "key" that is text'],
    ["a file without a value", (path) => writeFileSync(path, '{"key": "x"}'), 'has no "value"'],
    [
      "bytes that are no text",
      (path) => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])),
      "is not UTF-8",
    ],
    ["a folder", (path) => mkdirSync(path), "is a folder"],
    [
      "a link",
      (path, state) => symlinkSync(secret(state), path),
      "is a symbolic link, which is not followed",
    ],
    [
      "a link to nowhere",
      (path, state) => symlinkSync(join(state, "none"), path),
      "is a symbolic link, which is not followed",
    ],
    ["a pipe", (path) => void Bun.spawnSync(["mkfifo", path]), "is not a regular file"],
    [
      "a huge file",
      (path) => {
        writeFileSync(path, "");
        truncateSync(path, 2 ** 40);
      },
      "has 1099511627776 bytes, more than",
    ],
  ];

  test.each(cases)("KEP-7: %s is named, left alone, and in nobody's way", async (_title, make, reason) => {
    using state = createStateDir();
    writeFileSync(secret(state.path), '{"key": "x", "value": "secret"}');
    const session = openSession(state.path);
    await save(session, "other", 1);
    const path = join(state.memories, "x.json");
    make(path, state.path);
    const before = lstatSync(path);

    const { memories, unreadable } = await session.listMemories(signal);
    expect(memories.map(({ key }) => key)).toEqual(["other"]);
    expect(unreadable).toEqual([{ file: "x.json", reason: expect.stringContaining(reason) }]);
    for (const attempt of [
      () => session.loadMemory("x", signal),
      () => save(session, "x", 2),
      () => session.holdMemory("x", signal),
      () => session.deleteMemory("x", signal),
    ]) {
      const failure = await failureOf(attempt());
      expect(failure).toStartWith(
        `MEMORY_UNAVAILABLE: the memory "x" cannot be used: its file ${JSON.stringify(path)}`,
      );
      expect(failure).toContain(reason);
    }
    expect((await session.loadMemory("other", signal))?.value).toBe("1");
    await save(session, "y", 3);
    const after = lstatSync(path);
    expect([after.ino, after.size, after.mtimeMs]).toEqual([before.ino, before.size, before.mtimeMs]);
    expect(readFileSync(secret(state.path), "utf8")).toContain("secret");
  });

  test("strange times and metadata of other programs are read as they make sense", async () => {
    using state = createStateDir();
    mkdirSync(state.memories, { recursive: true });
    writeFileSync(
      join(state.memories, "k.json"),
      '\ufeff{"value": 1, "key": "k", "created_at": "today", "updated_at": null, "metadata": [1], "value": 2}',
    );
    const found = await openSession(state.path).loadMemory("k", signal);
    expect(found).toMatchObject({ value: "2", metadata: "[1]" });
    expect(Math.abs((found?.created_at ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  });

  test("a copy of a memory under another name counts once, and does not come back", async () => {
    using state = createStateDir();
    const session = openSession(state.path);
    await save(session, "k", "new");
    writeFileSync(join(state.memories, "copy.json"), '{"key": "k", "value": "copy"}');
    expect((await session.listMemories(signal)).memories).toHaveLength(1);
    expect((await session.loadMemory("k", signal))?.value).toBe('"new"');
    await session.deleteMemory("k", signal);
    expect(await session.loadMemory("k", signal)).toBeNull();
    expect(readdirSync(state.memories)).toEqual([]);
  });
});
