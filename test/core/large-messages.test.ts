import { expect, test } from "bun:test";
import { LARGE_BYTES, LargeMessages } from "../../src/core/large-messages.ts";
import { patient } from "../helpers/patient.ts";

const MIB = 1024 ** 2;
const take = (letGo: (() => void) | undefined) => letGo?.();

/** Whether a promise has resolved by now. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const no = Symbol();
  return (await Promise.race([promise, Promise.resolve().then(() => no)])) !== no;
}

test("EXH-14: large messages are received one after the other", async () => {
  const messages = new LargeMessages();
  const first = await messages.enter();
  first.received();
  const second = messages.enter();
  expect(await isDone(second)).toBe(false);
  first.passed();
  first.passed();
  (await second).passed();
});

test("EXH-14: a message that comes slowly holds up nobody", async () => {
  const messages = new LargeMessages();
  await messages.enter();
  await messages.enter();
});

test("EXH-14: nothing more is received while much is held, and small messages pass in any case", async () => {
  const messages = new LargeMessages();
  const held = messages.hold(30 * MIB);
  const [large, middle] = [messages.enter(), messages.pass(LARGE_BYTES)];
  await messages.pass(1000);
  expect(await Promise.all([large, middle].map(isDone))).toEqual([false, false]);
  take(held);
  (await large).passed();
  await middle;
});

test("EXH-14: what nobody takes keeps others waiting for a while alone", async () => {
  const messages = new LargeMessages();
  messages.hold(40 * MIB);
  const began = performance.now();
  (await messages.enter()).passed();
  expect(performance.now() - began).toBeGreaterThan(1000);
  take(messages.hold(10 * MIB));
  const again = performance.now();
  (await messages.enter()).passed();
  expect(performance.now() - again).toBeLessThan(patient(1000));
}, 20_000);

test("EXH-14: what is too much together is not held, and there is room for anything where nothing is", () => {
  const messages = new LargeMessages();
  const held = messages.hold(95 * MIB);
  expect(held).toBeFunction();
  expect(messages.hold(1)).toBeUndefined();
  take(held);
  expect(messages.hold(80 * MIB)).toBeFunction();
  expect(messages.hold(20 * MIB)).toBeUndefined();
});
