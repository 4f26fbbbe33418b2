import { expect, test } from "bun:test";
import { RequestFlow } from "../../src/upstream/remote/request-flow.ts";

const LARGE = 1024 ** 2;

/** Enters so many; `count` is how many are in. */
function enter(flow: RequestFlow, count: number, signal = new AbortController().signal) {
  const state = { count: 0, errors: [] as unknown[] };
  for (let n = 0; n < count; n += 1) {
    void Promise.resolve(flow.enter(signal)).then(
      () => {
        state.count += 1;
      },
      (error) => state.errors.push(error),
    );
  }
  return state;
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test("EXH-14: the first answers show how many may be under way, and each small one lets in two", async () => {
  const flow = new RequestFlow();
  const requests = enter(flow, 300);
  await settle();
  expect(requests.count).toBe(64);
  for (let n = 0; n < 10; n += 1) flow.leave(100);
  await settle();
  expect(requests.count).toBe(64 + 20);
  for (let n = 0; n < 10; n += 1) flow.leave(undefined); // no answer tells nothing
  await settle();
  expect(requests.count).toBe(64 + 30);
});

test("EXH-14: a large answer takes that back, until many small ones came after it", async () => {
  const flow = new RequestFlow();
  const requests = enter(flow, 1000);
  await settle();
  for (let n = 0; n < 20; n += 1) flow.leave(100); // 84 are allowed
  flow.leave(LARGE);
  await settle();
  const before = requests.count;
  for (let n = 0; n < 51; n += 1) flow.leave(LARGE);
  await settle();
  expect(requests.count).toBe(before); // down to 32
  for (let n = 0; n < 300; n += 1) flow.leave(100);
  await settle();
  expect(requests.count).toBeGreaterThan(before + 300);
});

test("EXH-14: who waits for a server that is slow goes on, and who is told to stop does not wait", async () => {
  const flow = new RequestFlow();
  enter(flow, 64);
  const stop = new AbortController();
  const [slow, stopped] = [enter(flow, 3), enter(flow, 2, stop.signal)];
  stop.abort("no longer");
  await settle();
  expect([slow.count, stopped.errors]).toEqual([0, ["no longer", "no longer"]]);
  while (slow.count < 3) await settle();
  expect(stopped.count).toBe(0);
});
