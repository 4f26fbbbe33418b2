import { expect, spyOn, test } from "bun:test";
import { costOfJson } from "../../src/core/json-cost.ts";
import { type Place, Room } from "../../src/core/room.ts";
import { readFrames } from "../../src/kernel/channel.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { until } from "../helpers/until.ts";

const MIB = 1024 ** 2;

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
  expect(await readFrames(endless(), { onLine: () => undefined, log: createMemoryLog() })).toBe("ended");
  expect(hasRung).toBe(true);
});

test("says what each frame costs", async () => {
  const lines = ['["s",{"type":"ready","generation":1}]', '["s",{"type":"ready","generation":22}]'];
  async function* output() {
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
  const costs: number[] = [];
  await readFrames(output(), { onLine: (_line, cost) => void costs.push(cost), log: createMemoryLog() });
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
    const room = new Room({ totalBytes: 64 * MIB });
    await readFrames(output(), { onLine: () => undefined, log: createMemoryLog(), room });
    expect(collect).toHaveBeenCalledTimes(collections);
  } finally {
    collect.mockRestore();
  }
});

const rpc = (bytes: number) =>
  `["k",{"type":"rpc","id":1,"method":"call_tool","params":{"text":"${"x".repeat(bytes)}"}}]\n`;

test("EXH-14: a large request of another sandbox is read once the one before it was answered, and small ones meanwhile", async () => {
  const room = new Room({ totalBytes: 2 * MIB });
  let readBytes = 0;
  async function* output(text: string) {
    for (let at = 0; at < text.length; at += 64 * 1024) {
      const chunk = Buffer.from(text.slice(at, at + 64 * 1024));
      readBytes += chunk.length;
      yield chunk;
    }
  }
  const waits: Promise<void>[] = [];
  const read = async (text: string) => {
    const places: (Place | undefined)[] = [];
    const onLine = (_line: unknown, _cost: number, place: Place | undefined) => {
      place?.share();
      places.push(place);
    };
    const holdBack = (wait: Promise<void>) => {
      waits.push(wait);
      return wait;
    };
    await readFrames(output(text), { onLine, holdBack, log: createMemoryLog(), room });
    return places;
  };

  const [first] = await read(rpc(4 * MIB));
  const other = read(rpc(4 * MIB) + rpc(100));
  expect(await read(rpc(100))).toEqual([undefined]);
  await until("the other to wait", () => waits.length === 1);
  expect(readBytes).toBeLessThan(6 * MIB);
  first?.leave();
  const [second, small] = await other;

  expect([second?.bytes, small]).toEqual([rpc(4 * MIB).length - 1, undefined]);
  second?.leave();
  expect(room.usedBytes).toBe(0);
});

test.each([
  ["ends in the middle of it", `${"x".repeat(2 * MIB)}`],
  ["breaks the protocol with it", `${"x".repeat(40 * MIB)}\n`],
  ["sends no frame", `${"x".repeat(2 * MIB)}\n`],
  ["sends one that nobody keeps", rpc(2 * MIB)],
])("EXH-14: what a sandbox has sent of a long line counts no more when it %s", async (_what, text) => {
  const room = new Room({ totalBytes: 64 * MIB });
  async function* output() {
    yield Buffer.from(text.slice(0, 1.5 * MIB));
    yield Buffer.from(text.slice(1.5 * MIB));
  }
  await readFrames(output(), { onLine: () => undefined, log: createMemoryLog(), room });
  expect([room.usedBytes, room.count()]).toEqual([0, 0]);
});
