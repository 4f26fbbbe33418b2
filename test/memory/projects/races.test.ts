/** What others do to the files of /projects on the host, at any moment. */
import { expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { HostMemory } from "../../../src/kernel/host-memory.ts";
import { createMemory } from "../../../src/memory/memory.ts";
import { createStateDir, failureOf, openSession, signal } from "../helpers.ts";

const write = (session: HostMemory, path: string, content: string, base = "") =>
  session.writeProjectFile(
    {
      path,
      offset: 0,
      total: Buffer.byteLength(content),
      base,
      data: Buffer.from(content).toString("base64"),
    },
    signal,
  );

async function versionOf(session: HostMemory, path: string): Promise<string> {
  const { files } = await session.listProjectFiles(signal);
  return files.find((file) => file.path === path)?.version ?? "";
}

test.each(["x.txt", "user_tools.py", "memory/k.json"])(
  "KEP-11: %s that somebody else changed is neither replaced nor removed",
  async (path) => {
    using state = createStateDir();
    const [one, other] = [openSession(state.path), openSession(state.path)];
    const texts = ["1", "2", "3"].map((n) =>
      path.startsWith("memory") ? `{"key": "k", "value": ${n}}` : `${n}\n`,
    );
    const [first = "", second = "", third = ""] = texts;
    const read = () => readFileSync(join(state.path, "user_tools", path), "utf8");

    expect(await write(one, path, first)).not.toBe("changed");
    const base = await versionOf(one, path);
    expect(await write(other, path, second, base)).not.toBe("changed");
    const theirs = read();

    expect(await write(one, path, third, base)).toBe("changed");
    expect(await write(one, path, third)).toBe("changed");
    expect(await one.removeProjectFile({ path, base }, signal)).toBe(false);
    expect(read()).toBe(theirs);
    expect(await write(one, path, theirs, base)).toMatchObject({ version: await versionOf(one, path) });

    rmSync(join(state.path, "user_tools", path)); // what is gone is nobody's loss
    expect(await write(one, path, third, base)).not.toBe("changed");
    expect(await one.removeProjectFile({ path, base: await versionOf(one, path) }, signal)).toBe(true);
    expect(existsSync(join(state.path, "user_tools", path))).toBe(false);
  },
);

test("KEP-11: of many bridges that replace one version, one does", async () => {
  using state = createStateDir();
  const sessions = Array.from({ length: 8 }, () => openSession(state.path));
  await write(sessions[0] as HostMemory, "x", "0");
  const base = await versionOf(sessions[0] as HostMemory, "x");
  const answers = await Promise.all(sessions.map((session, at) => write(session, "x", `${at + 1}`, base)));
  const taken = answers.flatMap((answer, at) => (answer === "changed" ? [] : [`${at + 1}`]));
  expect(taken).toEqual([readFileSync(join(state.path, "user_tools/x"), "utf8")]);
  expect(readdirSync(join(state.path, "user_tools")).sort()).toEqual(["memory", "x"]);
});

test("EXH-6: of many files that are written at once no more are kept than there is room for", async () => {
  using state = createStateDir();
  const memory = createMemory({ stateDir: state.path, quotaBytes: 3500 });
  const sessions = Array.from({ length: 16 }, () => memory.openSession());
  const outcomes = await Promise.all(
    sessions.map((session, at) => failureOf(write(session, `x${at}`, "x".repeat(1000)))),
  );
  const kept = readdirSync(join(state.path, "user_tools")).filter((name) => name !== "memory");
  expect(kept).toHaveLength(3);
  expect(outcomes.filter((outcome) => outcome.startsWith("MEMORY_REFUSED"))).toHaveLength(13);
});

test("KEP-2: a file with a second name elsewhere is replaced, not written into", async () => {
  using state = createStateDir();
  using elsewhere = createStateDir();
  const session = openSession(state.path);
  mkdirSync(join(state.path, "user_tools"));
  writeFileSync(join(elsewhere.path, "canary"), "untouched");
  linkSync(join(elsewhere.path, "canary"), join(state.path, "user_tools/x"));
  await write(session, "x", "new", await versionOf(session, "x"));
  expect(readFileSync(join(elsewhere.path, "canary"), "utf8")).toBe("untouched");
});

/** Swaps a folder with a link to one elsewhere, and a file with a link, each in one step and as fast as it can. */
const SWAPPER = `
import ctypes, os, sys
root, aside, elsewhere = (path.encode() for path in sys.argv[1:])
EXCHANGE = 2
os.symlink(elsewhere, aside + b"/folder")
os.symlink(elsewhere + b"/x", aside + b"/file")
os.mkfifo(aside + b"/pipe")
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    for path, other in ((b"/d", b"/folder"), (b"/d/x", b"/file"), (b"/d/x", b"/pipe")):
        exchange(-100, root + path, -100, aside + other, EXCHANGE)
        exchange(-100, root + path, -100, aside + other, EXCHANGE)
`;

test.if(process.platform === "linux")(
  "KEP-2: whoever swaps folders and files while they are kept leads nowhere else, and holds nobody up",
  async () => {
    using state = createStateDir();
    using elsewhere = createStateDir();
    const root = join(state.path, "user_tools");
    const canary = join(elsewhere.path, "x");
    writeFileSync(canary, "canary");
    const before = statSync(canary, { bigint: true });
    const session = openSession(state.path);
    await write(session, "d/x", "0");
    await using swapper = Bun.spawn(["python3", "-c", SWAPPER, root, state.path, elsewhere.path], {
      stdout: "pipe",
    });
    await swapper.stdout.getReader().read();

    const outcomes = new Map<string, number>();
    const seen: string[] = [];
    const read = async () => {
      const { data } = await session.readProjectFile({ path: "d/x", offset: 0 }, signal);
      seen.push(Buffer.from(data, "base64").toString());
    };
    const end = performance.now() + 1500;
    // Under load it may take longer until the first that is read between two swaps.
    for (let round = 0; performance.now() < end || seen.length === 0; round++) {
      const base = await versionOf(session, "d/x").catch(() => "");
      const removing = round % 4 === 0 ? [session.removeProjectFile({ path: "d/x", base }, signal)] : [];
      const all = [write(session, "d/x", `${round}`, base), ...Array.from({ length: 20 }, read), ...removing];
      for (const each of await Promise.all(all.map(failureOf))) {
        const kind = each.split(":")[0] ?? "";
        outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
      }
    }
    expect(swapper.exitCode).toBeNull();
    swapper.kill("SIGKILL");
    await swapper.exited;

    expect([...outcomes.keys()].filter((kind) => !/^(no failure|MEMORY_\w+)$/.test(kind))).toEqual([]);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((text) => !/^\d+$/.test(text))).toEqual([]);
    expect(readdirSync(elsewhere.path)).toEqual(["x"]);
    expect([readFileSync(canary, "utf8"), statSync(canary, { bigint: true }).mtimeNs]).toEqual([
      "canary",
      before.mtimeNs,
    ]);
  },
);
