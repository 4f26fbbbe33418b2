import { describe, expect, test } from "bun:test";
import { OpenResults, ResultRooms, type UnreadResults, waitForRoom } from "../../src/mcp/unread-results.ts";

const MIB = 1024 ** 2;
const NEVER = new AbortController().signal;

/** Whether another run may begin now. */
async function isRoomy(unread: UnreadResults): Promise<boolean> {
  const given = new AbortController();
  let isReady = false;
  const waiting = unread.ready().then(() => {
    isReady = true;
  });
  await waitForRoom(
    { ready: () => waiting, hold: () => true },
    AbortSignal.any([given.signal, AbortSignal.timeout(20)]),
  );
  return isReady;
}

describe("CLI-5: results that a client has not read", () => {
  test("hold its next run back until they are read, and nobody else's", async () => {
    const rooms = new ResultRooms();
    const ann = new OpenResults(rooms, "ann");
    const other = new OpenResults(rooms, "ann");
    const bob = new OpenResults(rooms, "bob");
    ann.begin(1);
    expect(ann.hold(1, 20 * MIB)).toBe(true);
    expect([await isRoomy(ann), await isRoomy(other), await isRoomy(bob)]).toEqual([false, false, true]);

    const waiting = waitForRoom(other, NEVER);
    ann.end(1);
    await waiting;
    expect(await isRoomy(ann)).toBe(true);
  });

  test("are counted once, and not at all where nobody reads them any more", async () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    unread.begin("a");
    unread.hold("a", 20 * MIB);
    unread.end("a");
    unread.end("a");
    expect(unread.hold("a", 20 * MIB)).toBe(true);
    expect(await isRoomy(unread)).toBe(true);
  });

  test("are 64 MiB of one caller at most: who has more is told so", () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    for (const id of [1, 2, 3, 4]) unread.begin(id);
    expect([1, 2, 3, 4].map((id) => unread.hold(id, 30 * MIB))).toEqual([true, true, false, false]);
    unread.end(2);
    expect(unread.hold(3, 30 * MIB)).toBe(true);
  });

  test("do not hold back a run that is taken back", async () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    unread.begin(1);
    unread.hold(1, 20 * MIB);
    await waitForRoom(unread, AbortSignal.abort());
  });
});
