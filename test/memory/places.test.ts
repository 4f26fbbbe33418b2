import { describe, expect, setSystemTime, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createStateDir, failureOf, openSession, type StateDir, save, signal } from "./helpers.ts";

const isRoot = process.getuid?.() === 0;
const canMount = isRoot && process.platform === "linux" && tryMount();
const MODULE = join(import.meta.dir, "../../src/memory/memory.ts");

function tryMount(): boolean {
  using state = createStateDir();
  if (!mount(state.path, "size=1m")) return false;
  unmount(state.path);
  return true;
}

function mount(path: string, options: string): boolean {
  return Bun.spawnSync(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]).exitCode === 0;
}

function unmount(path: string): void {
  Bun.spawnSync(["umount", "-l", path]);
}

/** A state directory on a file system of its own. */
function createDisk(options: string): StateDir {
  const state = createStateDir();
  if (!mount(state.path, options)) throw new Error("cannot mount a tmpfs");
  return {
    ...state,
    [Symbol.dispose]() {
      unmount(state.path);
      state[Symbol.dispose]();
    },
  };
}

if (!canMount)
  process.stderr.write("not run: a full disk and a read-only one, since only root can mount those\n");
if (!isRoot) process.stderr.write("not run: folders of other users, since only root can make those\n");

describe("the folder", () => {
  test("is made with all above it, for its owner alone", async () => {
    using state = createStateDir();
    const deep = join(state.path, "a/b");
    await save(openSession(deep), "k", 1);
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect(
      ["a/b", "a/b/user_tools", "a/b/user_tools/memory"].map((name) => mode(join(state.path, name))),
    ).toEqual([0o700, 0o700, 0o700]);
    expect(mode(join(deep, "user_tools/memory/k.json"))).toBe(0o600);
  });

  test("is not made by reading", async () => {
    using state = createStateDir();
    const session = openSession(join(state.path, "none"));
    expect(await session.loadMemory("k", signal)).toBeNull();
    expect(await session.deleteMemory("k", signal)).toBe(false);
    expect((await session.listMemories(signal)).memories).toEqual([]);
    expect(readdirSync(state.path)).toEqual([]);
  });

  test("may be the user's own link, and its parts may not", async () => {
    using state = createStateDir();
    const real = join(state.path, "real");
    mkdirSync(real);
    symlinkSync(real, join(state.path, "link"));
    await save(openSession(join(state.path, "link")), "k", 1);
    expect(readdirSync(real)).toEqual(["user_tools"]);
    const other = join(state.path, "other");
    mkdirSync(other);
    for (const [name, target] of [
      ["user_tools", real],
      ["user_tools/memory", other],
    ] as const) {
      rmSync(join(state.path, "user_tools"), { recursive: true, force: true });
      if (name.includes("/")) mkdirSync(join(state.path, "user_tools"));
      symlinkSync(target, join(state.path, name));
      const session = openSession(state.path);
      for (const attempt of [
        () => save(session, "k", 1),
        () => session.loadMemory("k", signal),
        () => session.listMemories(signal),
      ]) {
        expect(await failureOf(attempt())).toBe(
          `MEMORY_UNAVAILABLE: ${JSON.stringify(join(state.path, name))} is a symbolic link, which is not followed`,
        );
      }
    }
    expect(readdirSync(other)).toEqual([]);
  });

  test.each([
    ["is a file", (path: string) => writeFileSync(path, ""), /is not a folder$/],
    [
      "everybody may write to",
      (path: string) => {
        mkdirSync(path);
        chmodSync(path, 0o777);
      },
      /^MEMORY_UNAVAILABLE: every user of this machine can change/,
    ],
  ])("KEP-8: that %s is refused", async (_title, make, message) => {
    using state = createStateDir();
    const path = join(state.path, "state");
    make(path);
    const session = openSession(path);
    expect(await failureOf(save(session, "k", 1))).toMatch(message);
    expect(await failureOf(session.loadMemory("k", signal))).toMatch(message);
  });
});

describe("a disk", () => {
  test.skipIf(!canMount)(
    "that is full refuses, keeps the old value, and takes it again when there is room",
    async () => {
      using state = createDisk("size=300k,mode=700");
      const session = openSession(state.path);
      await save(session, "k", "old");
      const filler = join(state.path, "filler");
      await save(session, "big", "x".repeat(100_000));
      writeFileSync(filler, Buffer.alloc(140_000));
      for (const key of ["k", "big", "new"]) {
        const { lease } = key === "new" ? { lease: "" } : await session.holdMemory(key, signal);
        const attempt =
          key === "new"
            ? save(session, key, "y".repeat(200_000))
            : session.commitMemory({ lease, value: JSON.stringify("y".repeat(200_000)) }, signal);
        expect(await failureOf(attempt)).toContain("MEMORY_UNAVAILABLE: saving the memory");
      }
      expect((await session.loadMemory("k", signal))?.value).toBe('"old"');
      expect(readdirSync(state.memories).sort()).toEqual(["big.json", "k.json"]);
      rmSync(filler);
      await save(session, "new", "y".repeat(100_000));
      expect(readdirSync(state.path)).toEqual(["user_tools"]);
    },
  );

  test.skipIf(!canMount)("that cannot be written is read all the same", async () => {
    using state = createDisk("size=1m,mode=700");
    const session = openSession(state.path);
    await save(session, "k", "old");
    Bun.spawnSync(["mount", "-o", "remount,ro", state.path]);
    for (const attempt of [
      () => save(session, "k", 2),
      () => save(session, "new", 2),
      () => session.holdMemory("k", signal),
      () => session.deleteMemory("k", signal),
    ]) {
      expect(await failureOf(attempt())).toMatch(/^MEMORY_UNAVAILABLE: .*read-only/);
    }
    expect((await session.loadMemory("k", signal))?.value).toBe('"old"');
  });

  test("HOST-9: quota of the process is a clear refusal, with the old value intact", async () => {
    using state = createStateDir();
    await save(openSession(state.path), "k", "old");
    const program = `
      import { createMemory } from ${JSON.stringify(MODULE)};
      const session = createMemory({ stateDir: ${JSON.stringify(state.path)}, quotaBytes: 1e8 }).openSession();
      const value = JSON.stringify("x".repeat(100_000));
      await session.saveMemory({ key: "k", value, metadata: null }, new AbortController().signal).catch((e) => console.log(e.code, e.message));`;
    const script = 'trap "" XFSZ; ulimit -f 20; exec "$0" -e "$1"';
    const { stdout } = Bun.spawnSync(["sh", "-c", script, process.execPath, program]);
    expect(stdout.toString()).toStartWith(
      'MEMORY_UNAVAILABLE saving the memory "k" failed, and nothing was changed: the file would be larger',
    );
    expect((await openSession(state.path).loadMemory("k", signal))?.value).toBe('"old"');
    expect(readdirSync(state.memories)).toEqual(["k.json"]);
  });
});

describe("an owner", () => {
  test.skipIf(!isRoot)(
    "gets what root saves in a folder of theirs, and what root makes in their home",
    async () => {
      using state = createStateDir();
      chownSync(state.path, 1234, 2345);
      for (const stateDir of [state.path, join(state.path, "home/MCPs")]) {
        const session = openSession(stateDir);
        await save(session, "k", 1);
        await save(session, "k", 2);
        const { lease } = await session.holdTools(signal);
        await session.commitTools({ lease, source: "x = 1\n" }, signal);
        for (const name of [
          "",
          "user_tools",
          "user_tools/memory",
          "user_tools/memory/k.json",
          "user_tools/user_tools.py",
        ]) {
          const { uid, gid } = statSync(join(stateDir, name));
          expect([name, uid, gid]).toEqual([name, 1234, 2345]);
        }
      }
    },
  );

  test.skipIf(!isRoot)("that is somebody else is refused", async () => {
    using state = createStateDir();
    await save(openSession(state.path), "k", 1);
    chmodSync(state.path, 0o755);
    const above = dirname(state.path); // of the whole suite, which keeps it to itself
    chmodSync(above, statSync(above).mode | 0o011);
    const program = `
      import { createMemory } from ${JSON.stringify(MODULE)};
      process.setgid(4321); process.setuid(4321);
      const session = createMemory({ stateDir: ${JSON.stringify(state.path)}, quotaBytes: 1e8 }).openSession();
      const { signal } = new AbortController();
      for (const attempt of [session.loadMemory("k", signal), session.saveMemory({ key: "k", value: "2", metadata: null }, signal)])
        await attempt.catch((e) => console.log(e.code, e.message));`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", program]);
    const lines = stdout.toString().trim().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(
        /^MEMORY_UNAVAILABLE .*user_tools" belongs to another user \(uid 0, expected 4321\)/,
      );
    chownSync(state.path, 1, 1);
    const again = Bun.spawnSync([process.execPath, "-e", program]).stdout.toString();
    expect(again).toContain("belongs to another user (uid 1, expected 4321)");
  });
});

test("HOST-11: a clock that was set back makes no memory older than its beginning", async () => {
  using state = createStateDir();
  const session = openSession(state.path);
  try {
    setSystemTime(new Date("2030-01-01T00:00:00Z"));
    await save(session, "k", 1);
    setSystemTime(new Date("2020-01-01T00:00:00Z"));
    await save(session, "k", 2);
    const found = await session.loadMemory("k", signal);
    expect(found).toMatchObject({ value: "2", created_at: 1893456000, updated_at: 1893456000 });
  } finally {
    setSystemTime();
  }
});

test("what is beyond the quota is refused with the sizes, and what shrinks is not", async () => {
  using state = createStateDir();
  const session = openSession(state.path, { quotaBytes: 50_000 });
  await save(session, "a", "x".repeat(30_000));
  await save(session, "b", "x".repeat(10_000));
  const failure = await failureOf(save(session, "c", "x".repeat(20_000)));
  expect(failure).toBe(
    'MEMORY_REFUSED: saving the memory "c" needs 19.6 KB more, but 39.3 KB of the 48.8 KB of /projects are in use',
  );
  const { lease } = await session.holdTools(signal);
  expect(await failureOf(session.commitTools({ lease, source: "#".repeat(20_000) }, signal))).toContain(
    "saving the tools needs",
  );
  await session.deleteMemory("b", signal);
  await save(session, "c", "x".repeat(10_000));
  const smaller = openSession(state.path, { quotaBytes: 1000 });
  await save(smaller, "a", "x".repeat(20_000));
  expect(await failureOf(save(smaller, "new", 1))).toStartWith("MEMORY_REFUSED");
});
