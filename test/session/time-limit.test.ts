import { describe, expect, test } from "bun:test";
import { CallAlarm } from "../../src/session/call-alarm.ts";
import { TimeLimit } from "../../src/session/time-limit.ts";

/** Resolves with the milliseconds from now until it is called. */
function stopwatch(): { readonly ring: () => void; readonly rung: Promise<number> } {
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<number>();
  return { ring: () => resolve(performance.now() - startedAt), rung: promise };
}

const wait = (ms: number) => {
  const limit = new TimeLimit(ms);
  return new Promise<void>((resolve) => limit.whenOver(resolve));
};

describe("TimeLimit", () => {
  test("is over after its time, and not before", async () => {
    const { ring, rung } = stopwatch();
    new TimeLimit(30).whenOver(ring);
    expect(await rung).toBeGreaterThanOrEqual(30);
  });

  test("stands still until all who paused it go on", async () => {
    const limit = new TimeLimit(40);
    const { ring, rung } = stopwatch();
    limit.whenOver(ring);
    const one = limit.pause();
    const other = limit.pause();
    const left = limit.leftMs;
    await wait(60);
    one();
    one(); // a second time is none
    expect(limit.leftMs).toBe(left);
    await wait(40);
    other();

    expect(await rung).toBeGreaterThanOrEqual(135);
    expect(limit.leftMs).toBeLessThanOrEqual(0);
  });

  test("rings for nobody who has forgotten it", async () => {
    const limit = new TimeLimit(20);
    let rings = 0;
    const forget = limit.whenOver(() => {
      rings += 1;
    });
    const goOn = limit.pause();
    forget();
    await wait(40);
    goOn();
    await wait(40);
    expect(rings).toBe(0);
  });
});

describe("CallAlarm", () => {
  test("rings at the first limit, and again looks at one that others have paused", async () => {
    const shared = new TimeLimit(30);
    const goOn = shared.pause();
    const { ring, rung } = stopwatch();
    new CallAlarm([shared, new TimeLimit(5000)], ring);
    await wait(80);
    goOn();

    const ms = await rung;
    expect(ms).toBeGreaterThanOrEqual(105);
    expect(ms).toBeLessThan(3000);
  });

  test("pauses all its limits, and rings no more once it is stopped", async () => {
    const limits = [new TimeLimit(20), new TimeLimit(30)] as const;
    const { ring, rung } = stopwatch();
    const alarm = new CallAlarm(limits, ring);
    const goOn = alarm.pause();
    await wait(60);
    expect(limits.map(({ leftMs }) => leftMs > 0)).toEqual([true, true]);
    goOn();
    expect(await rung).toBeGreaterThanOrEqual(75);

    let rings = 0;
    const other = new CallAlarm([new TimeLimit(10)], () => {
      rings += 1;
    });
    const goOnOther = other.pause();
    other.stop();
    goOnOther();
    await wait(40);
    expect(rings).toBe(0);
  });
});
