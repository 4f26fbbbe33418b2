import { expect, spyOn, test } from "bun:test";
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

test.each([
  ["does not for short frames, of which Bun knows what they leave", 20_000, "{}", 0],
  ["does for frames of many values", 4, `{"list":[${"[],".repeat(150_000)}0]}`, 3],
])("collects garbage: %s", async (_title, count, params, collections) => {
  const line = `["k",{"type":"rpc","id":1,"method":"call_tool","params":${params}}]\n`;
  async function* output() {
    for (let each = 0; each < count; each += 1) yield Buffer.from(line);
  }
  const collect = spyOn(Bun, "gc").mockImplementation(() => undefined);
  try {
    await readFrames(output(), () => undefined, createMemoryLog());
    expect(collect).toHaveBeenCalledTimes(collections);
  } finally {
    collect.mockRestore();
  }
});
