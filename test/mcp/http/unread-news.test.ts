import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { withoutUnreadNews } from "../../../src/mcp/http/unread-news.ts";

/** Characters at which lines end for some, but not in a stream of events. */
const TEXT = "\u2028\r".repeat(5000);
const NEWS = { method: "notifications/message", params: { level: "info", data: TEXT } };

const eventOf = (message: object) =>
  new TextEncoder().encode(
    `event: message\nid: 1-a\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`,
  );

function streamOf(chunks: readonly Uint8Array[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const big = (message: object) => eventOf({ ...message, params: { text: "x".repeat(200_000) } });

test.each<[what: string, event: Uint8Array, isKept: boolean]>([
  ["progress", eventOf({ method: "notifications/progress", params: { progress: 1 } }), false],
  ["a log message", eventOf(NEWS), false],
  ["the end of a sign-in", eventOf({ method: "notifications/elicitation/complete", params: {} }), false],
  ["that a question is taken back", eventOf({ method: "notifications/cancelled", params: {} }), true],
  ["that tools changed", eventOf({ method: "notifications/tools/list_changed" }), true],
  ["a question", eventOf({ id: 1, method: "elicitation/create", params: {} }), true],
  ["a result", eventOf({ id: 1, result: { method: "notifications/progress" } }), true],
  ["a large result", big({ id: 1, method: "notifications/progress" }), true],
  ["a comment", new TextEncoder().encode(": keepalive\n\n"), true],
])("with 256 KiB unread, is left out or not: %s", async (_what, event, isKept) => {
  const response = withoutUnreadNews(streamOf([big({ id: 0 }), big({ id: 0 }), event]));
  await nextTurn(); // nobody has read yet
  expect((await response.bytes()).length).toBe(2 * big({ id: 0 }).length + (isKept ? event.length : 0));
});

test("leaves nothing out for a client that reads, nor from what is no stream of events", async () => {
  let count = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await nextTurn();
      if (count++ < 100) controller.enqueue(eventOf(NEWS));
      else controller.close();
    },
  });
  const response = withoutUnreadNews(
    new Response(body, { headers: { "content-type": "text/event-stream" } }),
  );
  expect((await response.bytes()).length).toBe(100 * eventOf(NEWS).length);
  const json = Response.json({});
  expect(withoutUnreadNews(json)).toBe(json);
});

test.each<[how: string, end: (body: ReadableStream<Uint8Array>) => Promise<unknown>]>([
  ["read", (body) => new Response(body).bytes()],
  ["left", (body) => body.cancel()],
  [
    "left while it waits for more",
    async (body) => {
      const reader = body.getReader();
      await reader.read();
      await reader.read();
      const last = reader.read();
      await reader.cancel();
      await last;
    },
  ],
])("counts what is held, until it is %s", async (_how, end) => {
  const chunks = [big({ id: 0 }), eventOf(NEWS)];
  let bytes = 0;
  const response = withoutUnreadNews(streamOf(chunks), (more) => {
    bytes += more;
  });
  await nextTurn();
  expect(bytes).toBe(chunks.reduce((sum, { length }) => sum + length, 0));
  if (response.body !== null) await end(response.body);
  expect(bytes).toBe(0);
});

test("counts nothing more of a stream that breaks", async () => {
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(big({ id: 0 })),
      async pull(controller) {
        await nextTurn();
        controller.error(new Error("broken"));
      },
    },
    { highWaterMark: 2 },
  );
  const headers = { "content-type": "text/event-stream" };
  const response = withoutUnreadNews(new Response(body, { headers }), (more) => {
    bytes += more;
  });
  await expect(response.bytes()).rejects.toThrow("broken");
  expect(bytes).toBe(0);
});
