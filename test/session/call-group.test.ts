import { expect, test } from "bun:test";
import { BridgeError } from "../../src/core/errors.ts";
import { CallGroup } from "../../src/session/call-group.ts";
import { TimeLimit } from "../../src/session/time-limit.ts";
import { until } from "../helpers/until.ts";

const isOver = (limit: TimeLimit) => until("the limit to be over", () => limit.leftMs < -20, 5000);

test("ends all its members when its time is over, and says that it is that", async () => {
  const limit = new TimeLimit(10);
  const group = new CallGroup(limit, [limit], true);
  group.enter();
  group.enter();
  await until("the end", () => group.signal.aborted, 5000);
  expect([group.isLate, (group.signal.reason as BridgeError).code]).toEqual([true, "UPSTREAM_TIMEOUT"]);
});

test("is no later than the first of its limits, and counts no time while one member waits for a person", async () => {
  const own = new TimeLimit(10);
  const group = new CallGroup(new TimeLimit(60_000), [new TimeLimit(60_000), own], false);
  group.enter();
  const goOn = [group.pause(), group.pause()];
  await isOver(new TimeLimit(10));
  goOn[0]?.();
  expect(group.signal.aborted).toBe(false);
  goOn[1]?.();
  await until("the end", () => group.signal.aborted, 5000);
});

test.each([
  ["is let go, and its last member leaves", ["letGo", "leave"]],
  ["is empty, and is let go", ["leave", "letGo"]],
] as const)("wakes for nobody once it %s", async (_title, ends) => {
  const limit = new TimeLimit(10);
  const group = new CallGroup(limit, [limit], true);
  group.enter();
  for (const end of ends) group[end]();
  await isOver(limit);
  expect(group.signal.aborted).toBe(false);
});

test("keeps the first reason for which it was stopped, also when its time is over then", async () => {
  const limit = new TimeLimit(10);
  const group = new CallGroup(limit, [limit], true);
  group.stop(new BridgeError("CANCELLED", "first"));
  group.stop(new BridgeError("CANCELLED", "second"));
  const next = new CallGroup(limit, [limit], true); // whose timer rings after that of the first
  await until("the end", () => next.signal.aborted, 5000);
  expect([group.isLate, (group.signal.reason as BridgeError).message]).toEqual([false, "first"]);
});
