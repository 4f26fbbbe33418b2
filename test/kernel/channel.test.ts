import { expect, test } from "bun:test";
import { costOfJson } from "../../src/core/json-cost.ts";
import { readFrames } from "../../src/kernel/channel.ts";
import { createMemoryLog } from "../helpers/logs.ts";

test("lets timers ring while a sandbox writes without end", async () => {
  const giveUpAt = performance.now() + 5000;
  let hasRung = false;
  setTimeout(() => {
    hasRung = true;
  }, 1);
  async function* endless() {
    const chunk = Buffer.from("junk\n".repeat(1000));
    while (!hasRung && performance.now() < giveUpAt) yield chunk;
  }
  expect(await readFrames(endless(), () => undefined, createMemoryLog())).toBe("ended");
  expect(hasRung).toBe(true);
});

test("says what each frame costs", async () => {
  const lines = ['["s",{"type":"ready","generation":1}]', '["s",{"type":"ready","generation":22}]'];
  async function* output() {
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
  const costs: number[] = [];
  await readFrames(output(), (_line, cost) => void costs.push(cost), createMemoryLog());
  expect(costs).toEqual(lines.map((line) => costOfJson(line)));
});
