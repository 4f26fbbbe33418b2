import { expect, test } from "bun:test";
import { IdleWatch } from "../../src/core/idle-watch.ts";
import { until } from "../helpers/until.ts";

const IDLE_MS = 30;

function watch() {
  const state = { isIdle: true, told: 0, toldAt: 0 };
  const idle = new IdleWatch({
    idleMs: IDLE_MS,
    isIdle: () => state.isIdle,
    onIdle: () => {
      state.told += 1;
      state.toldAt = performance.now();
    },
  });
  return { idle, state };
}

test("what was not used for so long is told of, once for each time", async () => {
  const { idle, state } = watch();
  for (const times of [1, 2]) {
    idle.touch();
    const { usedAt } = idle;
    await until("it is idle", () => state.told === times);
    expect(state.toldAt - usedAt).toBeGreaterThanOrEqual(IDLE_MS - 1);
  }
});

test("a use puts it off, without a timer of its own", async () => {
  const { idle, state } = watch();
  idle.touch();
  const end = performance.now() + 3 * IDLE_MS;
  while (performance.now() < end) {
    idle.touch();
    await Promise.resolve();
  }
  const { usedAt } = idle;
  await until("it is idle", () => state.told > 0);
  expect(state.told).toBe(1);
  expect(state.toldAt - usedAt).toBeGreaterThanOrEqual(IDLE_MS - 1);
});

test.each<[string, (idle: IdleWatch, state: { isIdle: boolean }) => void, boolean]>([
  ["while it is in use", (_idle, state) => Object.assign(state, { isIdle: false }), true],
  ["where that was cancelled", (idle) => idle.cancel(), true],
  ["after it was stopped", (idle) => idle.stop(), false],
])("nobody is told %s", async (_title, change, isToldLater) => {
  const [{ idle, state }, other] = [watch(), watch()];
  idle.touch();
  change(idle, state);
  for (const times of [1, 2]) {
    other.idle.touch();
    await until("another is idle", () => other.state.told === times);
  }
  expect(state.told).toBe(0);
  state.isIdle = true;
  idle.touch();
  other.idle.touch();
  await until("another is idle again", () => other.state.told === 3);
  if (isToldLater) await until("it is idle", () => state.told === 1);
  expect(state.told).toBe(isToldLater ? 1 : 0);
});
