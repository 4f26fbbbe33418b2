import { expect, test } from "bun:test";
import { JoinedWrites } from "../../src/core/joined-writes.ts";

const LONG = "l".repeat(10_000);

function createRecorder() {
  const written: string[] = [];
  const writes = new JoinedWrites(async (bytes) => {
    written.push(Buffer.from(bytes as Uint8Array).toString());
  });
  return { written, writes };
}

test.each<[string, readonly (string | Uint8Array)[], readonly string[]]>([
  ["one alone", ["a\n"], ["a\n"]],
  ["texts", ["a\n", "ä\n", "c\n"], ["a\nä\nc\n"]],
  ["bytes and texts", ["ä\n", Buffer.from("ü\n"), "c\n"], ["ä\nü\nc\n"]],
  ["long ones on their own, in order", ["a", LONG, "b", "c", Buffer.from(LONG)], ["a", LONG, "bc", LONG]],
  [
    "at most 32 at once",
    Array.from({ length: 70 }, () => "x"),
    ["x".repeat(32), "x".repeat(32), "x".repeat(6)],
  ],
])("joins what comes in one turn: %s", async (_title, pieces, expected) => {
  const { written, writes } = createRecorder();
  await Promise.all(pieces.map((piece) => writes.write(piece)));
  expect(written).toEqual([...expected]);
});

test("writes what microtasks bring as well, and nothing waits for the next turn", async () => {
  const { written, writes } = createRecorder();
  const chain = async (text: string, steps: number) => {
    for (let step = 0; step < steps; step += 1) await undefined;
    await writes.write(text);
  };
  await new Promise((resolve) => setImmediate(resolve)); // what follows is a microtask, as all that streams bring
  const later = new Promise<readonly string[]>((resolve) => setImmediate(() => resolve([...written])));
  await Promise.all([chain("a", 0), chain("b", 5), chain("c", 50)]);
  expect(await later).toEqual(["abc"]);
});

test("writes at once what waits when it is told to", () => {
  const { written, writes } = createRecorder();
  void writes.write("a");
  void writes.write("b");
  writes.flush();
  writes.flush();
  expect(written).toEqual(["ab"]);
});

test("fails all that were joined where the write fails", async () => {
  const writes = new JoinedWrites(() => Promise.reject(new Error("gone")));
  const ends = await Promise.allSettled([writes.write("a"), writes.write("b"), writes.write(LONG)]);
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
});
