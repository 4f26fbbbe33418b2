import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { patient } from "../helpers/patient.ts";
import { createStateDir, openSession, save, signal } from "./helpers.ts";

const MODULE = join(import.meta.dir, "../../src/memory/memory.ts");
const KILLS = 100;
const AT_ONCE = 4;
const KEYS = ["a", "b/c", "ü"];
const MAX_WRITES = 60;

/** Writes without end, each value of its own size, and says after each what is kept now. */
const WRITER = `
  import { createMemory } from ${JSON.stringify(MODULE)};
  const [stateDir, first] = process.argv.slice(-2);
  const session = createMemory({ stateDir, quotaBytes: 1e9 }).openSession();
  const { signal } = new AbortController();
  for (let n = Number(first); ; n++) {
    for (const [at, key] of ${JSON.stringify(KEYS)}.entries()) {
      const value = JSON.stringify({ n, text: "x".repeat((n * 7919) % 50_000) });
      if (at === 0) {
        const { lease } = await session.holdMemory(key, signal);
        await session.commitMemory({ lease, value }, signal);
      } else await session.saveMemory({ key, value, metadata: null }, signal);
      process.stdout.write(key + "\\t" + n + "\\n");
    }
  }`;

/** Lets a writer write, kills it, and returns the last that it said of each key, and how much it wrote. */
async function writeAndKill(stateDir: string, first: number, writes: number) {
  const child = Bun.spawn([process.execPath, "-e", WRITER, "--", stateDir, String(first)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = new Map<string, number>();
  let text = "";
  let count = 0;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const [key = "", n] = line.split("\t");
      said.set(key, Number(n));
      count += 1;
    }
    if (count >= writes) child.kill("SIGKILL");
  }
  await child.exited;
  expect(await child.stderr.text()).toBe("");
  return { said, count };
}

async function killAgainAndAgain(kills: number): Promise<number> {
  using state = createStateDir();
  let next = 1;
  let total = 0;
  for (let kill = 0; kill < kills; kill++) {
    const { said, count } = await writeAndKill(state.path, next, 1 + Math.floor(Math.random() * MAX_WRITES));
    total += count;
    for (const name of readdirSync(state.memories)) {
      if (!name.startsWith(".")) JSON.parse(readFileSync(join(state.memories, name), "utf8"));
    }
    const session = openSession(state.path);
    const { memories, unreadable } = await session.listMemories(signal);
    expect(unreadable).toEqual([]);
    expect(memories.length).toBeGreaterThanOrEqual(said.size);
    for (const key of KEYS) {
      const found = await session.loadMemory(key, signal);
      if (found === null) continue;
      const { n, text } = JSON.parse(found.value) as { n: number; text: string };
      expect(text.length).toBe((n * 7919) % 50_000);
      expect(n).toBeGreaterThanOrEqual(said.get(key) ?? 0); // what was said to be kept is
      next = Math.max(next, n + 1);
    }
  }
  // Whoever comes next cleans up, and is not kept waiting by the locks of the dead.
  const startedAt = performance.now();
  const session = openSession(state.path);
  for (const key of KEYS) await save(session, key, "the end");
  expect(performance.now() - startedAt).toBeLessThan(patient(2000));
  expect(readdirSync(state.memories)).toHaveLength(KEYS.length);
  expect(readdirSync(state.path)).toEqual(["user_tools"]);
  return total;
}

test(`KEP-4: ${KILLS} writers that are killed leave the old value or the new, and nothing else`, async () => {
  const totals = await Promise.all(Array.from({ length: AT_ONCE }, () => killAgainAndAgain(KILLS / AT_ONCE)));
  expect(totals.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(1000);
}, 60_000);
