import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostMemory } from "../../../src/kernel/host-memory.ts";
import { createMemory } from "../../../src/memory/memory.ts";
import { createStateDir, failureOf, openSession, save, signal } from "../helpers.ts";

function write(session: HostMemory, path: string, content: string, base = "") {
  const data = Buffer.from(content).toString("base64");
  return session.writeProjectFile({ path, offset: 0, total: Buffer.byteLength(content), base, data }, signal);
}

/** Removes a file as it is now. */
async function remove(session: HostMemory, path: string) {
  const { files } = await session.listProjectFiles(signal);
  const base = files.find((file) => file.path === path)?.version ?? "";
  return session.removeProjectFile({ path, base }, signal);
}

const pathsOf = async (session: HostMemory) =>
  (await session.listProjectFiles(signal)).files.map(({ path }) => path);

test("has a state that changes with each file, and says apart what the saved tools do to it", async () => {
  using state = createStateDir();
  const memory = createMemory({ stateDir: state.path, quotaBytes: 1024 ** 2 });
  const [one, other] = [memory.openSession(), memory.openSession()];
  expect(await one.projectState()).toBe("");
  const states: string[] = [];
  await write(one, "a/x.txt", "1");
  states.push(await other.projectState());
  await save(one, "k", 1);
  states.push(await other.projectState());
  await write(one, "user_tools.py", "def f(): ...\n");
  states.push(await other.projectState());
  expect(await remove(other, "a/x.txt")).toBe(true);
  states.push(await one.projectState());
  expect(new Set(states).size).toBe(4);
  const tools = states.map((each) => each.split("/")[1]);
  expect([tools[0], tools[1], tools[2] === "", tools[2] === tools[3]]).toEqual(["", "", false, true]);
  expect(await pathsOf(one)).toEqual(["memory/k.json", "user_tools.py"]);
  expect(existsSync(join(state.path, "user_tools/a"))).toBe(false);
});

test.each([
  "",
  "/etc/passwd",
  "../x",
  "a/../../x",
  "a//b",
  "./x",
  "a\0b",
  "a\\b",
  "x".repeat(600),
  `${"a/".repeat(20)}x`,
  "\ud800",
  "__pycache__/x.pyc",
])("refuses the path %p", async (path) => {
  using state = createStateDir();
  expect(await failureOf(write(openSession(state.path), path, "x"))).toMatch(/^MEMORY_REFUSED: /);
});

test.each([
  ["memory/a.json", "{}", "is not a memory"],
  ["memory/a.json", '{"key": "b", "value": 1}', "belongs in"],
  ["memory/a.txt", "x", "holds memories alone"],
  ["memory/d/a.json", '{"key": "a", "value": 1}', "holds memories alone"],
])("refuses %s with %s", async (path, content, why) => {
  using state = createStateDir();
  expect(await failureOf(write(openSession(state.path), path, content))).toContain(why);
});

test("takes a valid memory written as a file, and gives it as one", async () => {
  using state = createStateDir();
  const session = openSession(state.path);
  await write(session, "memory/a.json", '{"key": "a", "value": [1, 2]}');
  expect((await session.loadMemory("a", signal))?.value).toBe("[1, 2]");
  expect(await remove(session, "memory/a.json")).toBe(true);
  expect(await session.loadMemory("a", signal)).toBeNull();
});

test("KEP-2: follows no link of the host, whichever part of the path it is", async () => {
  using state = createStateDir();
  using elsewhere = createStateDir();
  const root = join(state.path, "user_tools");
  mkdirSync(root);
  writeFileSync(join(elsewhere.path, "canary"), "untouched");
  symlinkSync(elsewhere.path, join(root, "folder"));
  symlinkSync(join(elsewhere.path, "canary"), join(root, "file"));
  const session = openSession(state.path);
  for (const path of ["folder/canary", "file"]) {
    expect(await failureOf(write(session, path, "evil"))).toMatch(/^MEMORY_REFUSED/);
    expect(await failureOf(session.readProjectFile({ path, offset: 0 }, signal))).toMatch(/^MEMORY_/);
    expect(await failureOf(session.removeProjectFile({ path, base: "" }, signal))).toMatch(/^MEMORY_REFUSED/);
  }
  expect(await pathsOf(session)).toEqual([]);
  expect(readFileSync(join(elsewhere.path, "canary"), "utf8")).toBe("untouched");
});

test("takes pieces in order alone, and no more than the quota", async () => {
  using state = createStateDir();
  const session = openSession(state.path, { quotaBytes: 100 });
  const piece = (offset: number, text: string, total = 6) =>
    session.writeProjectFile(
      { path: "x", offset, total, base: "", data: Buffer.from(text).toString("base64") },
      signal,
    );
  expect(await piece(0, "abc")).toBeNull();
  expect(await piece(3, "def")).toMatchObject({ bytes: 6 });
  expect(await failureOf(piece(3, "def"))).toContain("does not follow");
  await piece(0, "abc");
  await session.releaseAll();
  expect(await failureOf(piece(3, "def"))).toContain("does not follow");
  expect(await failureOf(piece(0, "abc", 101))).toContain("of /projects are in use");
  expect(readFileSync(join(state.path, "user_tools/x"), "utf8")).toBe("abcdef");
});
