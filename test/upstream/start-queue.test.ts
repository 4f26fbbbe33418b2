import { expect, test } from "bun:test";
import { StartQueue } from "../../src/upstream/start-queue.ts";

test("EXH-19: eight servers start at once, 2,000 wait, and more are refused until some have started", async () => {
  const queue = new StartQueue();
  const gate = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const start = () =>
    queue.run(async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
    });
  const started = Array.from({ length: 2008 }, start);
  await expect(start()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(running).toBe(8);
  gate.resolve();
  await Promise.all([...started]);
  await start();
  expect([most, running]).toEqual([8, 0]);
});
