import { expect, setSystemTime, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { patient } from "../helpers/patient.ts";
import { createStateDir, failureOf, openSession, save, signal } from "./helpers.ts";

const MODULE = join(import.meta.dir, "../../src/memory/memory.ts");
const UPDATES = 50;

/** Updates of one process, one after the other or all at once. */
const UPDATER = `
  import { createMemory } from ${JSON.stringify(MODULE)};
  const [stateDir, name, order] = process.argv.slice(-3);
  const session = createMemory({ stateDir, quotaBytes: 1e9 }).openSession();
  const { signal } = new AbortController();
  const update = async (n) => {
    const { lease, memory } = await session.holdMemory("log", signal);
    await session.commitMemory({ lease, value: JSON.stringify([...JSON.parse(memory?.value ?? "[]"), name + n]) }, signal);
  };
  const numbers = Array.from({ length: ${UPDATES} }, (_, n) => n);
  if (order === "at once") await Promise.all(numbers.map(update));
  else for (const n of numbers) await update(n);`;

test.each(["one after the other", "at once"])(
  "two processes lose no update when each makes 50 %s",
  async (order) => {
    using state = createStateDir();
    const startedAt = performance.now();
    const children = ["a", "b"].map((name) =>
      Bun.spawn([process.execPath, "-e", UPDATER, "--", state.path, name, order], { stderr: "pipe" }),
    );
    for (const child of children) expect([await child.exited, await child.stderr.text()]).toEqual([0, ""]);
    expect(performance.now() - startedAt).toBeLessThan(patient(10_000));
    const found = JSON.parse(
      (await openSession(state.path).loadMemory("log", signal))?.value ?? "[]",
    ) as string[];
    expect(new Set(found).size).toBe(2 * UPDATES);
    expect(readdirSync(state.memories)).toEqual(["log.json"]);
    expect(readdirSync(state.path)).toEqual(["user_tools"]);
  },
);

test("a process that dies while it holds something keeps nobody waiting", async () => {
  using state = createStateDir();
  const holder = Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { createMemory } from ${JSON.stringify(MODULE)};
       const session = createMemory({ stateDir: ${JSON.stringify(state.path)}, quotaBytes: 1e9 }).openSession();
       await session.holdMemory("k", new AbortController().signal);
       console.log("held");
       setInterval(() => {}, 1000);`,
    ],
    { stdout: "pipe" },
  );
  for await (const _ of holder.stdout) break;
  expect(await failureOf(save(openSession(state.path, { waitMs: 100 }), "k", 1))).toContain(
    "is being updated by somebody else",
  );
  holder.kill("SIGKILL");
  await holder.exited;
  const startedAt = performance.now();
  await save(openSession(state.path), "k", 2);
  expect(performance.now() - startedAt).toBeLessThan(patient(1000));
});

test("one of many that wait may give up, and the others go on", async () => {
  using state = createStateDir();
  const session = openSession(state.path);
  const { lease } = await session.holdMemory("k", signal);
  const stop = new AbortController();
  const gone = failureOf(session.holdMemory("k", stop.signal));
  const next = session.holdMemory("k", signal);
  stop.abort(new Error("stopped"));
  expect(await gone).toBe("undefined: stopped");
  await session.release({ lease });
  const { lease: second } = await next;
  await session.commitMemory({ lease: second, value: "1" }, signal);
  await session.release({ lease: second }); // no fault
  expect((await session.loadMemory("k", signal))?.value).toBe("1");
});

test("more than 64 that wait in one session are refused", async () => {
  using state = createStateDir();
  const session = openSession(state.path);
  const { lease } = await session.holdMemory("k", signal);
  const stop = new AbortController();
  const waiting = Array.from({ length: 64 }, () => failureOf(session.holdMemory("k", stop.signal)));
  expect(await failureOf(session.holdMemory("other", signal))).toStartWith("LIMIT_EXCEEDED: 64 updates");
  stop.abort(new Error("stopped"));
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["undefined: stopped"]));
  await session.release({ lease });
  expect(readdirSync(state.path)).toEqual(["user_tools"]);
});

test("EXH-13: one session holds no more than 128 memories at once", async () => {
  using state = createStateDir();
  const [session, other] = [openSession(state.path), openSession(state.path)];
  for (let n = 0; n < 128; n++) await session.holdMemory(`k${n}`, signal);
  expect(await failureOf(session.holdMemory("more", signal))).toStartWith(
    "LIMIT_EXCEEDED: this session holds 128",
  );
  expect(await failureOf(session.holdTools(signal))).toStartWith("LIMIT_EXCEEDED");
  await save(other, "more", 1);
  await session.releaseAll();
  await session.holdMemory("more", signal);
  await session.releaseAll();
  expect(readdirSync(state.path)).toEqual(["user_tools"]);
});

test.each([86_400_000, -86_400_000])(
  "HOST-11: a clock that is set by %i ms while something is held takes it from nobody",
  async (jumpMs) => {
    using state = createStateDir();
    const [one, other] = [openSession(state.path), openSession(state.path, { waitMs: 50 })];
    const { lease } = await one.holdMemory("k", signal);
    setSystemTime(new Date(Date.now() + jumpMs));
    try {
      expect(await failureOf(save(other, "k", "stolen"))).toStartWith("MEMORY_UNAVAILABLE");
      await one.commitMemory({ lease, value: "1" }, signal);
      expect((await other.loadMemory("k", signal))?.value).toBe("1");
    } finally {
      setSystemTime();
    }
  },
);

test("leases are of use to their own session alone, and for what they are on", async () => {
  using state = createStateDir();
  const [one, other] = [openSession(state.path), openSession(state.path)];
  const { lease } = await one.holdMemory("k", signal);
  expect(await failureOf(other.commitMemory({ lease, value: "1" }, signal))).toStartWith(
    "MEMORY_REFUSED: nothing was changed",
  );
  await other.release({ lease });
  expect(await failureOf(one.commitTools({ lease, source: "" }, signal))).toContain(
    "what is held is a memory",
  );
  expect(await one.loadMemory("k", signal)).toBeNull();
  await save(other, "k", 2); // free again
});
