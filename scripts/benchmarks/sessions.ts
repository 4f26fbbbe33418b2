import { containersOf } from "./bridge.ts";
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
/** Docker's programs that serve all containers. */
const DAEMONS = /^(\S*\/)?(dockerd|containerd) /;
/** With 50 sessions: 100 calls a second. */
const PAUSE_MS = 500;

/** Many sessions cost little more than their containers, and do not keep each other waiting. */
export async function benchSessions(world: World): Promise<Comparison[]> {
  const served = await serveBridge(world, MOST);
  const sessions: ServedSession[] = [];
  const none = await memoryAtRest(world, served);
  const rows: Comparison[] = [];
  const busy: { readonly count: number; readonly took: readonly number[] }[] = [];
  let alone: readonly number[] = [];
  for (const count of COUNTS) {
    while (sessions.length < count) sessions.push(await open(served));
    if (count === 1) alone = await callsInTurn(sessions[0], CALLS_ALONE);
    if (none !== undefined) rows.push(await memoryRow(world, served, count, none));
    if (count > 1) busy.push({ count, took: await fromAll(sessions, callsWithPauses) });
  }
  const flatOut = await fromAll(sessions, (session) => callsInTurn(session, CALLS_EACH));
  const shared = { bench: "sessions", unit: "ms", yardstick: "median of a call where one is alone" } as const;
  rows.push(
    ...busy.map(({ count, took }) => ({
      ...shared,
      measured: `p95 of a call with ${count} sessions that call every ${PAUSE_MS} ms`,
      ours: [p95(took)],
      theirs: [median(alone)],
      ...(count === MOST ? { target: atMost(10) } : {}),
    })),
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

async function memoryRow(
  world: World,
  served: ServedBridge,
  count: number,
  none: number,
): Promise<Comparison> {
  const all = (await memoryAtRest(world, served)) ?? Number.NaN;
  return {
    bench: "sessions",
    measured: `memory of each of ${count} and the spare, with engine and the server's share`,
    yardstick: world.engine === "docker" ? "server and daemons alone" : "the server alone",
    unit: "MB",
    // The one that is kept ready is one more of the same, and the server has it for all.
    ours: [(all - none) / (count + 1)],
    theirs: [none],
    ...(count === MOST ? { target: valueAtMost(MAX_MB) } : {}),
  };
}

/** What all measure at the same time. */
async function fromAll(
  sessions: readonly ServedSession[],
  work: (session: ServedSession) => Promise<readonly number[]>,
): Promise<readonly number[]> {
  return (await Promise.all(sessions.map(work))).flat();
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
async function memoryAtRest(world: World, { pid }: ServedBridge): Promise<number | undefined> {
  if (!canReadMemory) return undefined;
  await Bun.sleep(SETTLE_MS);
  const processes = listProcesses();
  // What watches over a container is no child of ours; its words have the container's name, or its id.
  const marks = containersOf(world, pid).flatMap(({ id, name }) => [id, name]);
  const engine = processes.filter(
    ({ command }) =>
      marks.some((mark) => command.includes(mark)) || (world.engine === "docker" && DAEMONS.test(command)),
  );
  try {
    return proportionalMemoryOf(withDescendants([pid, ...engine.map((each) => each.pid)], processes));
  } catch (error) {
    process.stderr.write(`bench: the memory of sessions is left out: ${String(error)}\n`);
    return undefined;
  }
}
