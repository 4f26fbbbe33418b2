import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import fc from "fast-check";
import { createStateDir, failureOf, openSession, save, signal } from "./helpers.ts";

/** Texts that some file system takes for one another, or for something else. */
const ALIKE = [
  "a",
  "A",
  "a ",
  " a",
  "a.",
  "a/b",
  "a_b",
  "a\\b",
  "a%2Fb",
  "\u00e9",
  "e\u0301",
  "E\u0301",
  "K",
  "\u212a",
  "ß",
  "ss",
  "ı",
  "i",
  "İ",
  "..",
  ".",
  "../x",
  "/etc/passwd",
  "con",
  "CON",
  "nul.txt",
  "a\0b",
  "a\nb",
  "~",
  "-rf",
  "__proto__",
  "x.json",
  ".x.json.0000000000000000",
  "x".repeat(255),
  "x".repeat(256),
  "x".repeat(1024),
  "\u202egpj.exe",
  "💥",
  "💥".repeat(250),
];

/** As a file system would see it that knows neither case nor forms. */
const fold = (name: string) =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[. ]+$/, "");

async function check(keys: readonly string[]): Promise<void> {
  using state = createStateDir();
  const session = openSession(state.path);
  for (const key of keys) await save(session, key, key);
  for (const key of keys) expect((await session.loadMemory(key, signal))?.value).toBe(JSON.stringify(key));
  const { memories, unreadable } = await session.listMemories(signal);
  expect(memories.map(({ key }) => key)).toEqual([...keys].sort());
  expect(unreadable).toEqual([]);
  const names = readdirSync(state.memories);
  expect(new Set(names.map(fold)).size).toBe(keys.length);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_][\w.~-]{0,110}\.json$/);
  expect(readdirSync(state.path)).toEqual(["user_tools"]);
  expect(readdirSync(`${state.path}/user_tools`)).toEqual(["memory"]);
}

test("KEP-1: keys that look alike never share a file, and none leaves the folder", () => check(ALIKE));

test.each(["con", "PRN", "aux", "nul.txt", "com1", "lpt9.x"])(
  "KEP-1: the file of the key %s is no device where a folder is shared with Windows",
  async (key) => {
    using state = createStateDir();
    await save(openSession(state.path), key, 1);
    const [name = ""] = readdirSync(state.memories);
    expect(name.split(".")[0]).not.toBe(key.split(".")[0]);
  },
);

test("no keys ever share a file", async () => {
  const key = fc.oneof(
    fc.string({ minLength: 1, maxLength: 40, unit: "binary" }),
    fc.stringMatching(/^[aAbB_./-]{1,4}$/),
    fc.constantFrom(...ALIKE),
  );
  await fc.assert(fc.asyncProperty(fc.uniqueArray(key, { minLength: 1, maxLength: 12 }), check), {
    numRuns: 40,
  });
});

test.each([
  ["", 'the key is ""'],
  ["\ud800", 'the key "\\ud800" has half a surrogate pair'],
  ["x".repeat(1025), "has 1025 bytes: expected at most 1024"],
  ["é".repeat(513), "has 1026 bytes: expected at most 1024"],
])("the key %j is refused by every method", async (key, message) => {
  using state = createStateDir();
  const session = openSession(state.path);
  for (const attempt of [
    () => save(session, key, 1),
    () => session.loadMemory(key, signal),
    () => session.deleteMemory(key, signal),
    () => session.holdMemory(key, signal),
  ]) {
    const failure = await failureOf(attempt());
    expect(failure).toStartWith("MEMORY_REFUSED: ");
    expect(failure).toContain(message);
  }
  expect(readdirSync(state.path)).toEqual([]);
});

test.each([
  ["not JSON", "{", "is not JSON"],
  ["NaN", "[NaN]", "is not JSON"],
  ["two values", "1 2", "is not JSON"],
  [
    "too large",
    JSON.stringify("x".repeat(16 * 1024 ** 2)),
    "takes 16777218 bytes of JSON: expected at most 16777216",
  ],
  ["of too many parts", `[${"[],".repeat(2_000_000)}0]`, "has more parts than one memory may have"],
  ["too large once escaped", JSON.stringify('"'.repeat(8_386_000)), "takes too much once its quotes"],
])("KEP-6: a value that is %s is refused, and the old one stays", async (_title, value, message) => {
  using state = createStateDir();
  const session = openSession(state.path);
  await save(session, "k", "old");
  expect(await failureOf(session.saveMemory({ key: "k", value, metadata: null }, signal))).toContain(message);
  const { lease } = await session.holdMemory("k", signal);
  expect(await failureOf(session.commitMemory({ lease, value }, signal))).toContain(message);
  expect((await session.loadMemory("k", signal))?.value).toBe('"old"');
});
