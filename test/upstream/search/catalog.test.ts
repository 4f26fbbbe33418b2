import { describe, expect, test } from "bun:test";
import { Catalog } from "../../../src/upstream/search/catalog.ts";
import { server, tool } from "./fixtures.ts";

/** A word for a number, without digits: those would be words of their own. */
function wordOf(number: number): string {
  return `q${String(number).replace(/\d/g, (digit) => "bcdfghjkmn"[Number(digit)] ?? "")}`;
}

describe("a catalog", () => {
  test("forgets the words of what is gone, so that a server that changes for ever costs no memory", async () => {
    const catalog = new Catalog(undefined);
    for (let round = 0; round < 100; round++) {
      const words = Array.from({ length: 500 }, (_, index) => wordOf(1000 * round + index));
      await catalog.update([server("changing", "", [tool("alpha", words.join(" "))])]);
      expect(catalog.terms.size).toBeLessThan(12_000);
      expect(catalog.index.has(catalog.terms.find(wordOf(1000 * round + 7)))).toBe(true);
    }
    expect(catalog.index.has(catalog.terms.find(wordOf(7)))).toBe(false);
  });

  test("keeps what it made of a server that stayed the same object", async () => {
    const catalog = new Catalog(undefined);
    const stays = server("stays", "", [tool("alpha", "Counts sheep.")]);
    await catalog.update([stays]);
    const [before] = catalog.servers;
    await catalog.update([server("new", "", [tool("beta")]), stays]);
    expect(catalog.servers[1]).toBe(before as never);
    expect(catalog.entries.map((entry) => entry.tool)).toEqual(["beta", "alpha"]);
  });
});
