/** Files of /projects that are not as we leave them, and folders that change under us (cases E7, E8 of our attacks). */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { HostMemory } from "../../../src/kernel/host-memory.ts";
import { createStateDir, failureOf, openSession, save, signal } from "../helpers.ts";

const isRoot = process.getuid?.() === 0;

function write(session: HostMemory, path: string, content: string, base = "") {
  const data = Buffer.from(content).toString("base64");
  return session.writeProjectFile({ path, offset: 0, total: Buffer.byteLength(content), base, data }, signal);
}

const filesOf = async (session: HostMemory) => (await session.listProjectFiles(signal)).files;

function setImmutable(path: string, is: boolean): boolean {
  return Bun.spawnSync(["chattr", is ? "+i" : "-i", path], { stderr: "ignore" }).exitCode === 0;
}

const canFreeze = (() => {
  using state = createStateDir();
  const path = join(state.path, "x");
  writeFileSync(path, "");
  if (!isRoot || Bun.which("chattr") === null || !setImmutable(path, true)) return false;
  return setImmutable(path, false);
})();
if (!canFreeze)
  process.stderr.write("not run: files that are immutable, which this file system or user has not\n");

describe("KEP-7: a file of /projects", () => {
  test("that may not be read, or that somebody else owns, is named, and the others go on", async () => {
    using state = createStateDir();
    const root = join(state.path, "user_tools");
    const session = openSession(state.path);
    await write(session, "good", "1");
    for (const name of ["closed", "others"]) writeFileSync(join(root, name), "x");
    chmodSync(join(root, "closed"), 0);
    if (isRoot) chownSync(join(root, "others"), 100_000, 100_000);
    mkdirSync(join(root, "shut"), { mode: 0 });

    expect((await filesOf(session)).map(({ path }) => path)).toEqual(["closed", "good", "others"]);
    const read = failureOf(session.readProjectFile({ path: "closed", offset: 0 }, signal));
    expect(await read).toMatch(isRoot ? /^no failure$/ : /^MEMORY_UNAVAILABLE: .*permission is denied/);
    const others = (await filesOf(session)).find(({ path }) => path === "others");
    expect(await write(session, "others", "mine", others?.version)).toMatchObject({ bytes: 4 });
    await write(session, "more", "2");
    chmodSync(join(root, "shut"), 0o700);
  });

  test.skipIf(!canFreeze)("that is immutable is a clear refusal, and stays", async () => {
    using state = createStateDir();
    const root = join(state.path, "user_tools");
    const session = openSession(state.path);
    await write(session, "x", "old");
    await save(session, "k", "old");
    const frozen = [join(root, "x"), join(root, "memory/k.json")];
    const [file] = (await filesOf(session)).filter(({ path }) => path === "x");
    for (const path of frozen) setImmutable(path, true);
    try {
      const reason = /^MEMORY_UNAVAILABLE: .*it is not permitted/;
      expect(await failureOf(write(session, "x", "new", file?.version))).toMatch(reason);
      expect(
        await failureOf(session.removeProjectFile({ path: "x", base: file?.version ?? "" }, signal)),
      ).toMatch(reason);
      expect(await failureOf(save(session, "k", "new"))).toMatch(reason);
      expect(await failureOf(session.deleteMemory("k", signal))).toMatch(reason);
      await write(session, "y", "1");
    } finally {
      for (const path of frozen) setImmutable(path, false);
    }
    expect(readFileSync(join(root, "x"), "utf8")).toBe("old");
    expect((await session.loadMemory("k", signal))?.value).toBe('"old"');
    expect(readdirSync(root).sort()).toEqual(["memory", "x", "y"]);
    expect(readdirSync(state.path)).toEqual(["user_tools"]);
  });
});

describe("KEP-8: a state directory", () => {
  test("that is removed or put aside while a session runs is made anew with the next file", async () => {
    using state = createStateDir();
    const path = join(state.path, "state");
    const session = openSession(path);
    await write(session, "d/x", "1");
    await save(session, "k", 1);
    for (const away of [() => rmSync(path, { recursive: true }), () => renameSync(path, `${path}.aside`)]) {
      away();
      expect(await session.projectState()).toBe("");
      expect(await filesOf(session)).toEqual([]);
      expect(await session.loadMemory("k", signal)).toBeNull();
      expect(await session.deleteMemory("k", signal)).toBe(false);
      expect(await session.removeProjectFile({ path: "d/x", base: "1" }, signal)).toBe(true);
      await write(session, "d/x", "2");
      await save(session, "k", 2);
      expect((await session.loadMemory("k", signal))?.value).toBe("2");
      expect(readFileSync(join(path, "user_tools/d/x"), "utf8")).toBe("2");
    }
  });

  test.skipIf(!canFreeze)(
    "that can no longer be written while a session runs is a clear refusal",
    async () => {
      using state = createStateDir();
      const session = openSession(state.path);
      await write(session, "x", "old");
      await save(session, "k", 1);
      const folders = ["", "user_tools", "user_tools/memory"].map((name) => join(state.path, name));
      for (const folder of folders) setImmutable(folder, true);
      try {
        const reason = /^MEMORY_UNAVAILABLE: .*(it is not permitted|permission is denied)/;
        expect(await failureOf(write(session, "y", "1"))).toMatch(reason);
        expect(await failureOf(save(session, "k", 2))).toMatch(reason);
        expect(await failureOf(session.holdTools(signal))).toMatch(reason);
        expect((await session.loadMemory("k", signal))?.value).toBe("1");
      } finally {
        for (const folder of folders) setImmutable(folder, false);
      }
      await save(session, "k", 2);
      expect(existsSync(join(state.path, "user_tools/y"))).toBe(false);
    },
  );
});
