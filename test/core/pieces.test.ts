import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { LineSplitter } from "../../src/core/lines.ts";
import { Pieces } from "../../src/core/pieces.ts";

const PIECES = 100_000;

/** How many objects more there are after `work`, without its garbage. */
function growth(work: () => void): number {
  Bun.gc(true);
  const before = heapStats().objectCount;
  work();
  Bun.gc(true);
  return heapStats().objectCount - before;
}

test.each([0, 1, 2, 1023, 1024, 1025, 5000])(
  "%d pieces make the whole, and nothing is left of them",
  (count) => {
    const pieces = new Pieces<string>((some) => some.join("\n"));
    const all = Array.from({ length: count }, (_, at) => String(at));
    for (const piece of all) pieces.add(piece);
    expect(pieces.take()).toBe(count === 0 ? undefined : all.join("\n"));
    expect(pieces.take()).toBeUndefined();
  },
);

test("a line that comes byte by byte takes no object for each", () => {
  const splitter = new LineSplitter(2 * PIECES);
  const grown = growth(() => {
    for (let at = 0; at < PIECES; at += 1) for (const _ of splitter.push(Buffer.alloc(1, 0x78)));
  });
  expect(splitter.heldBytes).toBe(PIECES);
  expect(grown).toBeLessThan(PIECES / 10);
  expect([...splitter.push(Buffer.from("\n"))]).toEqual([
    { kind: "line", bytes: Buffer.alloc(PIECES, 0x78) },
  ]);
});
