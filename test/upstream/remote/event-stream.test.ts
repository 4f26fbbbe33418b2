import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { Room } from "../../../src/core/room.ts";
import { filterEvents } from "../../../src/upstream/remote/event-stream.ts";

const LINES = 100_000;

/** A stream of events that is sent piece by piece, and its other end. */
function stream() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const events = filterEvents(readable, {
    maxBytes: 2 ** 24,
    reader: { room: new Room({ totalBytes: 2 ** 24 }), owner: {}, signal: new AbortController().signal },
    replace: (data) => [data],
    end: () => [],
  });
  return { send: (text: string) => writer.write(Buffer.from(text)), reader: events.getReader() };
}

test("the last of its fields of one name is that of an event", async () => {
  const { send, reader } = stream();
  void send("id: 1\nretry: 5\nid: 2\nevent: other\nevent: message\ndata: a\ndata: b\n\n");
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe("id: 2\nretry: 5\nevent: message\ndata: a\ndata: b\n\n");
});

test.each(["id: ab\n", "event: message\n", "retry: 1\n", "data: ab\n"])(
  "an event that goes on with %j takes no object for each",
  async (line) => {
    const { send, reader } = stream();
    const event = reader.read();
    await send("data: first\n");
    Bun.gc(true);
    const before = heapStats().objectCount;
    await send(line.repeat(LINES));
    await send("data: last\n"); // taken once all before it was
    Bun.gc(true);
    expect(heapStats().objectCount - before).toBeLessThan(LINES / 10);
    await send("\n");
    const text = new TextDecoder().decode((await event).value);
    expect(text).toContain("data: first\n");
    expect(text).toEndWith("data: last\n\n");
  },
);
