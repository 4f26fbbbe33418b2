import { expect, test } from "bun:test";
import { Claim } from "../../src/core/answer-room.ts";
import { type Place, Room } from "../../src/core/room.ts";

/** Opens a place for a message of so many bytes; `told` once it is counted. */
function arrive(room: Room, owner: string, bytes: number, signal?: AbortSignal) {
  const place = room.open(owner);
  const arrival = { place, isIn: false, isStalled: false, error: undefined as unknown };
  place.onStalled(() => {
    arrival.isStalled = true;
  });
  void Promise.resolve(place.grow(bytes, signal)).then(
    () => {
      arrival.isIn = true;
    },
    (error) => {
      arrival.error = error;
    },
  );
  return arrival;
}

/** What has happened by the end of this turn of the event loop. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const isIn = (arrivals: readonly { readonly isIn: boolean }[]) => arrivals.map((one) => one.isIn);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settle();
}

test("EXH-14: messages wait where there is no room, and one alone goes beyond it", async () => {
  const room = new Room({ totalBytes: 100 });
  const all = [60, 60, 60, 10].map((bytes) => arrive(room, "a", bytes));
  await settle();
  expect(isIn(all)).toEqual([true, true, false, false]);
  expect(room.usedBytes).toBe(120);
  all[1]?.place.leave();
  await settle();
  expect(isIn(all)).toEqual([true, true, true, false]); // small ones do not overtake
  all[0]?.place.leave();
  await settle();
  expect(isIn(all)).toEqual([true, true, true, true]);
  for (const { place } of all.slice(2)) place.leave();
  expect(room.usedBytes).toBe(0);
});

test("EXH-14: who goes beyond the room may grow to its end, and others that have some of theirs wait", async () => {
  const room = new Room({ totalBytes: 100 });
  const [slow, first] = [room.open("a"), room.open("b")];
  expect(slow.grow(50)).toBeUndefined();
  expect(first.grow(50)).toBeUndefined();
  expect(first.grow(90)).toBeInstanceOf(Promise);
  expect(first.grow(300)).toBeUndefined();
  const more = Promise.resolve(slow.grow(60));
  await settle();
  expect(room.usedBytes).toBe(350);
  first.leave();
  await more;
  expect(room.usedBytes).toBe(60);
});

test("EXH-14: owners take turns, however many messages each has", async () => {
  const room = new Room({ totalBytes: 10 });
  const order: string[] = [];
  const send = async (owner: string) => {
    const place = room.open(owner);
    await place.grow(20);
    order.push(owner);
    await settle();
    place.leave();
  };
  await Promise.all([..."aaaabbc"].map(send));
  expect(order.join("")).toBe("aabcaba"); // the first found nobody there
});

test("EXH-14: who does not wait any longer leaves the queue at once, and what it holds stays until it leaves", async () => {
  const room = new Room({ totalBytes: 100 });
  const held = arrive(room, "a", 200);
  const stop = new AbortController();
  const [gone, next] = [arrive(room, "b", 50, stop.signal), arrive(room, "b", 50)];
  await settle();
  stop.abort("no longer");
  await settle();
  expect(gone.error).toBe("no longer");
  held.place.leave();
  await settle();
  expect(isIn([gone, next])).toEqual([false, true]);
  gone.place.leave();
  expect(room.usedBytes).toBe(50);
  expect(await Promise.resolve(room.open("c").grow(80, stop.signal)).catch(String)).toBe("no longer");
});

test("EXH-14: what does not move while others wait is told so, and holds up nobody any more", async () => {
  const room = new Room({ totalBytes: 100, lookMs: 20 });
  const [stalled, next] = [arrive(room, "a", 200), arrive(room, "b", 50)];
  await until(() => next.isIn);
  expect(stalled.isStalled).toBe(true);
  expect(room.usedBytes).toBe(250); // as long as it is there
  stalled.place.leave();
  expect(room.usedBytes).toBe(50);
});

test("EXH-14: what moves is waited for, and what nobody waits for may rest", async () => {
  const room = new Room({ totalBytes: 100, lookMs: 20 });
  const moving = arrive(room, "a", 200);
  for (const end = performance.now() + 70; performance.now() < end; ) await settle();
  expect(moving.isStalled).toBe(false);
  const next = arrive(room, "b", 50);
  for (const end = performance.now() + 100; performance.now() < end; await settle()) moving.place.move();
  expect([moving.isStalled, next.isIn]).toEqual([false, false]);
  moving.place.leave();
  await until(() => next.isIn);
});

test("EXH-14: a place that is shared is free when all have left it", () => {
  const room = new Room({ totalBytes: 100 });
  const place: Place = room.open("a");
  place.grow(10);
  place.share();
  place.leave();
  expect(room.usedBytes).toBe(10);
  place.leave();
  expect(room.usedBytes).toBe(0);
});

test.each<[string, (claim: Claim, room: Room) => void]>([
  [
    "that a server sent",
    (claim, room) => {
      const place = room.open("server");
      place.grow(200_000);
      claim.hold(place);
      place.leave(); // it is the claim's alone
    },
  ],
  ["of the host's own", (claim) => claim.cover("x".repeat(199_998), new AbortController().signal)],
])(
  "EXH-14: a sandbox that takes nothing of an answer %s holds up the others for two looks alone",
  async (_whose, take) => {
    const room = new Room({ totalBytes: 100_000, lookMs: 20 });
    const claim = new Claim({}, room);
    take(claim, room);
    const next = arrive(room, "b", 50_000);
    await until(() => next.isIn);
    expect(room.usedBytes).toBe(250_000);
    claim.release();
    expect(room.usedBytes).toBe(50_000);
  },
);

test("CLI-15: who has its share waits for what is its own, and others go before it", async () => {
  const room = new Room({ totalBytes: 100, isShared: true });
  const own = ["a", "a", "b"].map((owner) => arrive(room, owner, 30));
  await settle();
  expect(isIn(own)).toEqual([true, false, true]);
  own[0]?.place.leave();
  await settle();
  expect(isIn(own)).toEqual([true, true, true]);
});

test("CLI-15: owners that take all they can leave half of the rest to each that comes later", async () => {
  const room = new Room({ totalBytes: 128, isShared: true });
  const greedy = [..."abcd"].flatMap((owner) => Array.from({ length: 100 }, () => arrive(room, owner, 1)));
  await settle();
  const had = greedy.map(({ place }) => place.bytes);
  const sums = [0, 1, 2, 3].map((n) => had.slice(n * 100, (n + 1) * 100).reduce((sum, one) => sum + one, 0));
  expect(sums).toEqual([64, 32, 16, 8]);

  const large = arrive(room, "e", 500); // one may be beyond, which costs the others nothing
  const next = arrive(room, "f", 4);
  await settle();
  expect(isIn([large, next])).toEqual([true, true]);
  const second = arrive(room, "g", 500);
  const [own, last] = [arrive(room, "e", 1), arrive(room, "h", 2)];
  await settle();
  expect(isIn([second, own, last])).toEqual([false, false, true]);
  large.place.leave();
  await settle();
  expect(isIn([second])).toEqual([true]);
});
