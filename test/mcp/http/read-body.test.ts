import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { Room } from "../../../src/core/room.ts";
import { createBodies, type JsonBody, readJsonBody } from "../../../src/mcp/http/read-body.ts";
import { until } from "../../helpers/until.ts";

const KIB = 1024;
const program = (kib: number) => JSON.stringify({ code: "x = 1\n".repeat((kib * KIB) / 6) });

function read(
  room: Room,
  body: string | ReadableStream,
  caller = "ada",
  headers: Record<string, string> = {},
) {
  const request = new Request("http://x/mcp", {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  return readJsonBody(request, caller, room);
}

/** A body that stops after so many KiB. */
const stalling = (kib: number) =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(kib * KIB).fill(0x20));
    },
  });

const statusOf = (answer: JsonBody | Response) => (answer instanceof Response ? answer.status : 200);
const textOf = async (answer: JsonBody | Response) => (answer instanceof Response ? answer.text() : "");

test("CLI-15: a program counts until its request is answered, and others wait for that", async () => {
  const room = new Room({ totalBytes: 200 * KIB });
  const held = (await read(room, program(150))) as JsonBody;
  const beyond = (await read(room, program(150), "bob")) as JsonBody; // one may be beyond the room
  let isRead = false;
  const waiting = read(room, program(150), "eve").then((answer) => {
    isRead = true;
    return answer;
  });
  const small = (await read(room, program(20), "eve")) as JsonBody; // in the meantime
  small.leave();
  expect([isRead, room.count()]).toEqual([false, 3]);
  beyond.leave();
  const last = (await waiting) as JsonBody;
  for (const body of [held, beyond, last, last]) body.leave();
  expect([room.usedBytes, room.count()]).toEqual([0, 0]);
});

test("CLI-15: two callers that hold all they can, and one with a very large program, keep no program of others waiting", async () => {
  const room = createBodies();
  const held: (JsonBody | Response)[] = [];
  const [usual, large] = [program(5000), program(20_000)];
  const take = async (caller: string, body: string) => {
    held.push(await read(room, body, caller, { "content-length": String(body.length) }));
  };
  const taken = [..."aaaaabbb"].map((caller) => take(caller, usual));
  taken.push(take("large", large));
  await until("all that may be read", () => held.length === 4 + 2 + 1);
  for (let nth = 0; nth < 3; nth++) {
    const other = (await read(room, program(1000), "other")) as JsonBody;
    other.leave();
  }
  while (held.length < taken.length) {
    for (const body of held) if (!(body instanceof Response)) body.leave();
    await Bun.sleep(0);
  }
  await Promise.all(taken);
  expect(held.map(statusOf)).toEqual(taken.map(() => 200));
});

test("CLI-15: a body that stops in the middle is given up when others wait, and those go on", async () => {
  const room = new Room({ totalBytes: 100 * KIB, lookMs: 20 });
  const stalled = read(room, stalling(200));
  await until("the body begins", () => room.usedBytes > 0);
  const next = (await read(room, program(90), "bob")) as JsonBody;
  expect(await textOf(await stalled)).toContain("nothing more came of the body, while others waited");
  next.leave();
  expect(room.usedBytes).toBe(0);
});

test.each([
  ["lists in lists", `${"[".repeat(200_000)}${"]".repeat(200_000)}`],
  ["small objects", `[${'{"a":1,"b":2},'.repeat(100_000)}0]`],
  ["names", `{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":0,`).join("")}"z":0}`],
])(
  "EXH-14: a body of many %s takes less room than it could in memory, or is refused",
  async (_title, body) => {
    const room = new Room({ totalBytes: 100 * KIB });
    expect(statusOf(await read(room, body))).toBe(413);
    expect(room.usedBytes).toBe(0);
  },
);

test("EXH-14: what characters beyond Latin-1 take is counted", async () => {
  const room = new Room({ totalBytes: 100 * KIB });
  const body = JSON.stringify({ code: `€${"x".repeat(200 * KIB)}` });
  const wide = (await read(room, body)) as JsonBody;
  expect(room.usedBytes).toBeGreaterThan(400 * KIB);
  wide.leave();
});

test("CLI-15: a body that comes in pieces of a byte takes no object for each", async () => {
  const pieces = 100_000;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answer = read(new Room({ totalBytes: 8 * 1024 * KIB }), readable);
  await writer.write(Buffer.from('"'));
  Bun.gc(true);
  const before = heapStats().objectCount;
  for (let at = 0; at < pieces; at += 1) await writer.write(Buffer.from("x"));
  Bun.gc(true);
  expect(heapStats().objectCount - before).toBeLessThan(pieces / 10);
  await writer.write(Buffer.from('"'));
  await writer.close();
  expect(((await answer) as JsonBody).value).toBe("x".repeat(pieces));
});
