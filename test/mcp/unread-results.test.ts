import { describe, expect, test } from "bun:test";
import { PassThrough, Writable } from "node:stream";
import { LineTransport } from "../../src/mcp/line-transport.ts";
import { OpenResults, ResultRooms, type UnreadResults, waitForRoom } from "../../src/mcp/unread-results.ts";

const MIB = 1024 ** 2;
const NEVER = new AbortController().signal;

/** Whether another run may begin now. */
async function isRoomy(unread: UnreadResults): Promise<boolean> {
  const given = new AbortController();
  let isReady = false;
  const waiting = unread.ready(NEVER).then(() => {
    isReady = true;
  });
  await waitForRoom(
    { ready: () => waiting, hold: () => true },
    AbortSignal.any([given.signal, AbortSignal.timeout(20)]),
  );
  return isReady;
}

/** To a client that takes nothing. */
function createUnreadTransport(): LineTransport {
  return new LineTransport({
    stdin: new PassThrough(),
    stdout: new Writable({ write: () => undefined }),
    onInputEnd: () => undefined,
    onOutputClosed: () => undefined,
    onDropped: () => undefined,
  });
}

describe("CLI-5: results that a client has not read", () => {
  test("hold its next run back until they are read, and nobody else's", async () => {
    const rooms = new ResultRooms();
    const ann = new OpenResults(rooms, "ann");
    const other = new OpenResults(rooms, "ann");
    const bob = new OpenResults(rooms, "bob");
    const read = ann.begin(1);
    expect(ann.hold(1, 20 * MIB)).toBe(true);
    expect([await isRoomy(ann), await isRoomy(other), await isRoomy(bob)]).toEqual([false, false, true]);

    const waiting = waitForRoom(other, NEVER);
    read();
    await waiting;
    expect(await isRoomy(ann)).toBe(true);
  });

  test("are counted once, and not at all where nobody reads them any more", async () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    const read = unread.begin("a");
    unread.hold("a", 20 * MIB);
    read();
    read();
    expect(unread.hold("a", 20 * MIB)).toBe(true);
    expect(await isRoomy(unread)).toBe(true);
  });

  test("are 64 MiB of one caller at most: who has more is told so", () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    const read = [1, 2, 3, 4].map((id) => unread.begin(id));
    expect([1, 2, 3, 4].map((id) => unread.hold(id, 30 * MIB))).toEqual([true, true, false, false]);
    read[1]?.();
    expect(unread.hold(3, 30 * MIB)).toBe(true);
  });

  test("are given back with their own request, whatever has its id by then", async () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    const first = unread.begin(1);
    unread.hold(1, 20 * MIB);
    const second = unread.begin(1); // the answer to the first is still on its way
    first();
    expect(await isRoomy(unread)).toBe(true);
    expect(unread.hold(1, 20 * MIB)).toBe(true);
    expect(await isRoomy(unread)).toBe(false);
    second();
    expect(await isRoomy(unread)).toBe(true);
  });

  test("do not hold back a run that is taken back, which waits for nothing any more", async () => {
    const unread = new OpenResults(new ResultRooms(), "ann");
    unread.begin(1);
    unread.hold(1, 20 * MIB);
    let waiting: Promise<void> | undefined;
    const watched: UnreadResults = {
      ready: (until) => {
        waiting = unread.ready(until);
        return waiting;
      },
      hold: () => true,
    };
    await waitForRoom(watched, AbortSignal.abort());
    await waiting;
  });

  test("over stdio keep nobody waiting who has given up either", async () => {
    const transport = createUnreadTransport();
    void transport.send({ jsonrpc: "2.0", id: 1, result: { text: "x".repeat(20 * MIB) } });
    const given = new AbortController();
    let isReady = false;
    const waiting = transport.ready(given.signal).then(() => {
      isReady = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isReady).toBe(false);
    given.abort();
    await waiting;
  });

  test("are over stdio 64 MiB before the client is asked nothing more; results still go", async () => {
    const transport = createUnreadTransport();
    const ask = (id: number) => {
      const params = { text: "x".repeat(30 * MIB) };
      const sent = transport.send({ jsonrpc: "2.0", id, method: "sampling/createMessage", params });
      return Promise.race([sent.then(() => "sent", String), new Promise((resolve) => setImmediate(resolve))]);
    };
    expect([await ask(1), await ask(2), await ask(3)]).toEqual([undefined, undefined, undefined]);
    expect(await ask(4)).toContain("the client does not read");
    let isRefused = false;
    transport.send({ jsonrpc: "2.0", id: 1, result: {} }).catch(() => {
      isRefused = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isRefused).toBe(false);
  });
});
