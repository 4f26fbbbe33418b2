import { expect, test } from "bun:test";
import { Outbox } from "../../src/kernel/outbox.ts";

const MIB = 1024 * 1024;

test.each([
  [1, 3],
  [9, 5],
  [30, 10],
])("EXH-14: gives a pipe longer for an answer that is long: for %i MiB %i looks", async (sizeMib, most) => {
  const stuck = Promise.withResolvers<number>();
  let looks = 0;
  const outbox = new Outbox({
    write: () => new Promise(() => undefined),
    onStuck: () => stuck.resolve(looks),
    isHeldBack: () => {
      looks += 1;
      return false;
    },
    lookMs: 1,
  });
  const sent = outbox.send(["k", { type: "reply", id: 1, value: { text: "x".repeat(sizeMib * MIB) } }]);
  expect(await stuck.promise).toBe(most);
  outbox.close();
  await sent;
});
