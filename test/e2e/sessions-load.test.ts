import { expect, test } from "bun:test";
import { containersOf, runEngine } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";
import { connectHttp, type SessionClient } from "./helpers/session-clients.ts";

const TOKEN = "ada-0123456789abcdef";
/** `SANDPY_TEST_SESSIONS=50` for the long form. */
const SESSIONS = Number(process.env["SANDPY_TEST_SESSIONS"] ?? 12);
const ROUNDS = SESSIONS > 12 ? 10 : 4;
const KILLS_PER_ROUND = Math.ceil(SESSIONS / 10);
const AT_ONCE = 8;
const LOST = "Variables, imports and functions of this session are gone";

/** One session, and the value that it was given last. */
interface Held {
  readonly handle: string;
  readonly key: string;
  value: number;
}

interface Tally {
  runs: number;
  killed: number;
  /** Runs that found no variables, or ended with their sandbox. */
  lost: number;
  /** Those that did not say so. */
  unsaid: string[];
  /** Runs that found what they should not. */
  wrong: string[];
}

test(`${SESSIONS} sessions of clients of both lines keep their variables while sandboxes are killed`, async () => {
  using home = createHome();
  await using served = await startServed(home, [], {
    MCP_BRIDGE_HTTP_TOKEN: TOKEN,
    MCP_BRIDGE_MEMORY: "64m",
    MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: String(SESSIONS + 4),
    MCP_BRIDGE_MAX_SESSIONS: String(SESSIONS + 4),
  });
  await using older = await connectHttp(served.url, TOKEN, "v1");
  await using newer = await connectHttp(served.url, TOKEN, "v2");
  const clients = [older, newer];
  const keys = Array.from({ length: SESSIONS }, (_, i) => `session-${i}`);
  const all = await inTurns(keys, async (key, i): Promise<Held> => {
    const { session = "", text } = await clientFor(i).run(give(key), "new");
    expect(text).toStartWith(`'${key}'`);
    return { handle: session, key, value: 0 };
  });
  expect(new Set(all.map(({ handle }) => handle)).size).toBe(SESSIONS);

  const tally: Tally = { runs: 0, killed: 0, lost: 0, unsaid: [], wrong: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const killing = killSome(served.child.pid, tally);
    // A handle is good on every connection of its caller.
    await inTurns(all, (held, i) => work(clientFor(i + round), held, tally));
    await killing;
  }
  await inTurns(all, (held, i) => work(clientFor(i), held, tally)); // what was killed last is said now
  const { unsaid, wrong, ...figures } = tally;
  process.stderr.write(`sessions: ${JSON.stringify({ sessions: SESSIONS, ...figures })}\n`);
  expect({ unsaid, wrong }).toEqual({ unsaid: [], wrong: [] });
  expect(tally.killed).toBeGreaterThanOrEqual(ROUNDS);
  expect(tally.lost).toBeGreaterThan(0);
  expect(tally.lost).toBeLessThanOrEqual(tally.killed);

  function clientFor(turn: number): SessionClient {
    return clients[turn % clients.length] ?? older;
  }
}, 300_000);

/** Code that gives a session its own variables. */
function give(key: string): string {
  return `mine, n = '${key}', 0\nmine`;
}

/** One run in a session: either all is as it was left, or all is gone and the answer says so. */
async function work(client: SessionClient, held: Held, tally: Tally): Promise<void> {
  tally.runs += 1;
  const code =
    "n = n + 1 if 'n' in globals() else -1\nprint('value', globals().get('mine'), n, len(runtime.session))";
  const { text } = await client.run(code, held.handle);
  const [, mine, n] = /^value (\S+) (-?\d+) 34$/m.exec(text) ?? [];
  if (mine === held.key && Number(n) === held.value + 1 && !text.includes(LOST)) {
    held.value += 1;
    return;
  }
  // Where it was killed in the middle, it may have shown its value before it went.
  const isHonest = mine === undefined || (mine === "None" && n === "-1") || mine === held.key;
  if (!isHonest) tally.wrong.push(`${held.key}: ${text}`);
  tally.lost += 1;
  if (!saysSo(text)) tally.unsaid.push(`${held.key}: ${text}`);
  held.value = 0;
  for (;;) {
    const again = await client.run(give(held.key), held.handle);
    if (again.text.startsWith(`'${held.key}'`)) return; // the session works at once
    tally.lost += 1; // killed once more
    if (!saysSo(again.text)) {
      tally.unsaid.push(`${held.key}: ${again.text}`);
      return;
    }
  }
}

/** Whether a run says that its sandbox was lost: while it ran, before, or already while it was started. */
function saysSo(text: string): boolean {
  return text.includes(LOST) || text.startsWith("the sandbox did not start: ");
}

/** Kills sandboxes at random, as an engine or a person would. */
async function killSome(pid: number, tally: Tally): Promise<void> {
  const names = await containersOf(pid);
  for (let i = 0; i < KILLS_PER_ROUND; i += 1) {
    const [name] = names.splice(Math.floor(Math.random() * names.length), 1);
    if (name === undefined) return;
    await runEngine("kill", name).then(
      () => {
        tally.killed += 1;
      },
      () => undefined, // its end came first
    );
  }
}

/** Does work for each, a few at a time, and returns the results in order. */
async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const serve = async () => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  return results;
}
