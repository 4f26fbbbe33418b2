import { expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createShortId, currentRun, outsideRuns, withinRun } from "../../src/core/run-context.ts";

test("is known to all that a run begins, and to nothing else", async () => {
  const seen: unknown[] = [];
  const both = [{ executionId: "e1" }, { executionId: "e2" }].map((run) =>
    withinRun({ sessionId: "s" }, () =>
      withinRun(run, async () => {
        await sleep(1);
        seen.push(currentRun());
      }),
    ),
  );
  expect(currentRun()).toEqual({});
  await Promise.all(both);
  expect(seen).toEqual([
    { sessionId: "s", executionId: "e1" },
    { sessionId: "s", executionId: "e2" },
  ]);
});

test("does not go with what outlives it", async () => {
  const later = withinRun({ executionId: "e1" }, () =>
    outsideRuns(async () => {
      await sleep(1);
      return currentRun();
    }),
  );
  expect(await later).toEqual({});
});

test("ids are short, of plain characters, and not the same twice", () => {
  const ids = Array.from({ length: 1000 }, createShortId);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{12}$/);
});
