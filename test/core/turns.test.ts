import { expect, test } from "bun:test";
import { takeTurns } from "../../src/core/turns.ts";

test("lets timers run while the source never pauses", async () => {
  let hasRung = false;
  setTimeout(() => {
    hasRung = true;
  }, 1);
  async function* endless() {
    for (let count = 0; !hasRung && count < 5_000_000; count++) yield count;
  }

  for await (const _count of takeTurns(endless())) if (hasRung) break;

  expect(hasRung).toBe(true);
});

test("passes everything on in order, and ends the source when nobody wants more", async () => {
  let hasEnded = false;
  async function* source() {
    try {
      yield* [1, 2, 3, 4];
    } finally {
      hasEnded = true;
    }
  }
  const taken: number[] = [];

  for await (const piece of takeTurns(source())) if (taken.push(piece) === 3) break;

  expect([taken, hasEnded]).toEqual([[1, 2, 3], true]);
});
