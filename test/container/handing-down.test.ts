import { describe, expect, test } from "bun:test";
import { type HandedStart, HandingDown, type Trust } from "../../src/container/handing-down.ts";

/** Begins a start that is to get descriptors. */
function begin(handingDown: HandingDown): HandedStart {
  const start = handingDown.begin();
  if (start === undefined) throw new Error("it gets none");
  return start;
}

describe("handing descriptors down", () => {
  /** Starts one after the other, w: worked, f: failed. */
  test.each<[string, Trust[]]>([
    ["wwww", []],
    ["f", ["doubted"]],
    ["fw", ["doubted", "trusted"]],
    ["fwfw", ["doubted", "trusted", "doubted", "trusted"]],
    ["wff", ["doubted", "lost"]],
    ["fwff", ["doubted", "trusted", "doubted", "lost"]],
  ])("is given up after two failures in a row: %s", async (starts, changes) => {
    const kept: Trust[] = [];
    const handingDown = new HandingDown(undefined, async (trust) => void kept.push(trust));
    const given: (boolean | undefined)[] = [];
    for (const end of starts) {
      const start = begin(handingDown);
      if (end === "w") await start.worked();
      else given.push(await start.failed());
    }
    expect(kept).toEqual(changes);
    expect(given.at(-1) ?? false).toBe(changes.at(-1) === "lost");
    expect(handingDown.begin() === undefined).toBe(changes.at(-1) === "lost");
  });

  test("counts failures of starts that began together as one", async () => {
    const handingDown = new HandingDown(undefined, async () => undefined);
    const together = [begin(handingDown), begin(handingDown), begin(handingDown)];
    expect(await Promise.all(together.map((start) => start.failed()))).toEqual([false, false, false]);
    await begin(handingDown).worked();
    expect(await begin(handingDown).failed()).toBe(false);
  });

  test("goes on where an earlier bridge was", async () => {
    const changes: Trust[] = [];
    const after = (kept: unknown) => new HandingDown(kept, async (trust) => void changes.push(trust));
    expect(await begin(after("doubted")).failed()).toBe(true);
    expect(after("lost").begin()).toBeUndefined();
    await begin(after("doubted")).worked();
    // As earlier versions kept it after a single failure.
    expect(await begin(after(false)).failed()).toBe(false);
    expect(changes).toEqual(["lost", "trusted", "doubted"]);
  });
});
