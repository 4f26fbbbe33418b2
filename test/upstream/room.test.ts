import { expect, test } from "bun:test";
import { Claim } from "../../src/core/answer-room.ts";
import { Room } from "../../src/core/room.ts";
import { guardAnswer } from "../../src/upstream/remote/answers.ts";
import { StandIns } from "../../src/upstream/remote/stand-ins.ts";
import { StdioTransport } from "../../src/upstream/transport.ts";
import { until } from "../helpers/until.ts";

const KIB = 1024;
const ANSWER = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text: "x".repeat(300 * KIB) } });
type Kind = "application/json" | "text/event-stream";
const KINDS: readonly Kind[] = ["application/json", "text/event-stream"];
const bodyOf = (kind: Kind) => (kind === "application/json" ? ANSWER : `data: ${ANSWER}\n\n`);

/** Serves the answer, as a stream of unknown length, up to so many bytes; `gone` resolves when a client leaves it. */
function serve(kind: Kind, upTo = Number.POSITIVE_INFINITY) {
  const gone = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch() {
      const bytes = new TextEncoder().encode(bodyOf(kind));
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(bytes.subarray(0, upTo));
          if (upTo >= bytes.length) controller.close();
        },
        cancel: () => gone.resolve(),
      });
      return new Response(body, { headers: { "content-type": kind } });
    },
  });
  return { url: server.url, gone: gone.promise, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** What the SDK would be given of the answer, as text. */
async function ask(url: URL, room: Room, signal = new AbortController().signal, standIns = new StandIns()) {
  const reader = { room, owner: {}, signal };
  const guarded = await guardAnswer(await fetch(url, { signal }), {
    request: "1",
    isHandshake: () => false,
    standIns,
    reader,
    onBadText: () => undefined,
    onOverflow: () => undefined,
  });
  return guarded.text();
}

/** A room that is full, so that the next one goes beyond it and all others wait. */
function full(lookMs?: number): Room {
  const room = new Room({ totalBytes: 100 * KIB, ...(lookMs === undefined ? {} : { lookMs }) });
  void room.open("full").grow(100 * KIB);
  return room;
}

test.each(KINDS)(
  "EXH-14: a %s that stops in the middle fails when others wait, and those go on",
  async (kind) => {
    const room = full(50);
    await using stopping = serve(kind, 200 * KIB);
    await using whole = serve(kind);
    const stalled = ask(stopping.url, room);
    await until("it begins", () => room.usedBytes > 100 * KIB);
    expect(await ask(whole.url, room)).toContain('"id":1');
    expect(await stalled).toContain("stopped in the middle of its answer, while others waited to be read");
    await stopping.gone;
  },
);

test("EXH-14: a line on stdout that stops in the middle ends its server when others wait, and those go on", async () => {
  const room = full(50);
  const script = `process.stdout.write("x".repeat(${200 * KIB})); setInterval(() => undefined, 1000)`;
  const transport = new StdioTransport({
    command: process.execPath,
    args: ["-e", script],
    env: {},
    room,
    mask: (text) => text,
    onStderr: () => undefined,
    onBadLine: () => undefined,
    stopGraceMs: 0,
  });
  await transport.start();
  await until("it begins", () => room.usedBytes > 100 * KIB);
  await using whole = serve("application/json");
  expect(await ask(whole.url, room)).toContain('"id":1');
  await transport.ended;
  expect(transport.fault?.message).toContain("stopped in the middle of a long line");
  await until("its room is free", () => room.count() <= 2);
});

test.each(KINDS)("EXH-14: who is told to stop waits no longer, for a %s", async (kind) => {
  const room = full();
  const first = room.open("first");
  void first.grow(500 * KIB);
  await using server = serve(kind);
  const stop = new AbortController();
  const waiting = ask(server.url, room, stop.signal).catch(String);
  await until("it waits", () => room.count() === 3);
  stop.abort("no longer");
  expect(await waiting).toBe("no longer");
  await until("it has left", () => room.count() === 2);
});

test.each(KINDS)("EXH-14: a %s is counted until it was taken, or nobody wants it", async (kind) => {
  const room = new Room({ totalBytes: 100 * KIB });
  await using server = serve(kind);
  const standIns = new StandIns();
  const [, data] = /(\{.*\})/.exec(await ask(server.url, room, undefined, standIns)) ?? [];
  expect(room.usedBytes).toBeGreaterThan(300 * KIB);
  const claim = new Claim({});
  standIns.exchange(JSON.parse(String(data)), (message, place) => {
    expect(message["result"]).toMatchObject({ text: expect.any(String) });
    if (place !== undefined) claim.hold(place);
  });
  expect(room.usedBytes).toBeGreaterThan(300 * KIB);
  claim.release();
  expect(room.usedBytes).toBe(0);
  await ask(server.url, room, undefined, standIns);
  expect(room.count()).toBe(1);
  standIns.forget("1");
  expect(room.count()).toBe(0);
});

test("EXH-14: a stream of events that is left in the middle of one gives its room back", async () => {
  const room = new Room({ totalBytes: 1024 * KIB });
  await using server = serve("text/event-stream", 200 * KIB);
  const guarded = await guardAnswer(await fetch(server.url), {
    request: "1",
    isHandshake: () => false,
    standIns: new StandIns(),
    reader: { room, owner: {}, signal: new AbortController().signal },
    onBadText: () => undefined,
    onOverflow: () => undefined,
  });
  const reader = guarded.body?.getReader();
  void reader?.read();
  await until("it begins", () => room.usedBytes > 100 * KIB);
  await reader?.cancel();
  await until("it has left", () => room.count() === 0);
  await server.gone;
});
