import { expect, test } from "bun:test";
import { Readable } from "node:stream";
import { readBounded } from "../../src/core/read-bounded.ts";

test.each<[string, string[], number, string | undefined]>([
  ["nothing", [], 0, ""],
  ["pieces as one", ["ab", "", "c"], 10, "abc"],
  ["as much as may be", ["ab", "c"], 3, "abc"],
  ["none of what is more", ["ab", "cd"], 3, undefined],
])("reads %s", async (_title, pieces, maxBytes, expected) => {
  const bytes = await readBounded(Readable.from(pieces.map((piece) => Buffer.from(piece))), maxBytes);
  expect(bytes && new TextDecoder().decode(bytes)).toBe(expected);
});

test("leaves a source alone that has more", async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1000);
    })(),
  );
  expect(await readBounded(endless, 10_000)).toBeUndefined();
  expect(endless.destroyed).toBe(true);
});
