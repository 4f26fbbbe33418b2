import { atMost, type Comparison, valueAtMost } from "./comparison.ts";
import { canReadMemory, listProcesses, proportionalMemoryOf, withDescendants } from "./memory.ts";
import { type ServedBridge, type ServedSession, serveBridge } from "./served.ts";
import { median, p95, time } from "./statistics.ts";
import type { World } from "./world.ts";

const COUNTS = [1, 10, 50] as const;
const MOST = 50;
const MAX_MB = 25;
/** The pool makes its next sandbox half a second later, and that needs about as long to come to rest. */
const SETTLE_MS = 2500;
const CALLS_ALONE = 100;
const CALLS_EACH = 12;
/** With 50 sessions: 100 calls a second. */
const PAUSE_MS = 500;

/** Many sessions cost little more than their containers, and do not keep each other waiting. */
export async function benchSessions(world: World): Promise<Comparison[]> {
  const served = await serveBridge(world, MOST);
  const sessions: ServedSession[] = [];
  const none = await memoryAtRest(served);
  const rows: Comparison[] = [];
  let alone: readonly number[] = [];
  for (const count of COUNTS) {
    while (sessions.length < count) sessions.push(await open(served));
    if (count === 1) alone = await callsInTurn(sessions[0], CALLS_ALONE);
    if (none === undefined) continue;
    const all = (await memoryAtRest(served)) ?? Number.NaN;
    // The one that is kept ready is one more of the same, and the server has it for all.
    rows.push({
      bench: "sessions",
      measured: `memory of each of ${count} and the spare, with engine and the server's share`,
      yardstick: "the server alone",
      unit: "MB",
      ours: [(all - none) / (count + 1)],
      theirs: [none],
      ...(count === MOST ? { target: valueAtMost(MAX_MB) } : {}),
    });
  }
  const busy = (await Promise.all(sessions.map((session) => callsWithPauses(session)))).flat();
  const flatOut = (await Promise.all(sessions.map((session) => callsInTurn(session, CALLS_EACH)))).flat();
  const shared = { bench: "sessions", unit: "ms", yardstick: "median of a call where one is alone" } as const;
  rows.push(
    {
      ...shared,
      measured: `p95 of a call with ${MOST} sessions that call every ${PAUSE_MS} ms`,
      ours: [p95(busy)],
      theirs: [median(alone)],
      target: atMost(10),
    },
    {
      ...shared,
      measured: `p95 of a call with ${MOST} sessions that never pause`,
      ours: [p95(flatOut)],
      theirs: [median(alone)],
    },
  );
  await Promise.all(sessions.map((session) => session.close()));
  await served.close();
  return rows;
}

/** A session that has run something, and has what a program has at least. */
async function open(served: ServedBridge): Promise<ServedSession> {
  const session = await served.connect();
  await session.python("import asyncio\nvalues = [1]");
  return session;
}

async function callsInTurn(session: ServedSession | undefined, count: number): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let call = 0; call < count; call += 1) samples.push(await time(async () => session?.python("1")));
  return samples;
}

/** Calls as agents do: each thinks in between, and no two at the same moment. */
async function callsWithPauses(session: ServedSession): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let call = 0; call < CALLS_EACH; call += 1) {
    await Bun.sleep(PAUSE_MS * (0.5 + Math.random()));
    samples.push(await time(() => session.python("1")));
  }
  return samples;
}

/** Megabytes of server, engine and containers once all is quiet; `undefined` where that cannot be read. */
async function memoryAtRest({ pid }: ServedBridge): Promise<number | undefined> {
  if (!canReadMemory) return undefined;
  await Bun.sleep(SETTLE_MS);
  const processes = listProcesses();
  const own = withDescendants([pid], processes);
  // What watches over a container is no child of ours; its words name the container, as those of the client do.
  const names = new Set(
    processes
      .filter((each) => own.includes(each.pid))
      .flatMap(({ command }) => / --name (sandpy-\S+)/.exec(command)?.[1] ?? []),
  );
  const monitors = processes.filter(({ command }) => [...names].some((name) => command.includes(name)));
  return proportionalMemoryOf(withDescendants([pid, ...monitors.map((each) => each.pid)], processes));
}
