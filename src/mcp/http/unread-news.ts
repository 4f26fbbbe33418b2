import { isJSONRPCNotification } from "@modelcontextprotocol/server";

/** With so many bytes of a stream not taken by its client, news are left out of it. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** What is larger is none of ours: progress has 4,000 characters, a log message 10,000. */
const MAX_NEWS_BYTES = 128 * 1024;
/** What a client can do without: the result has all of the output, and who asks to be told at the end can ask. */
const NEWS: ReadonlySet<string> = new Set([
  "notifications/progress",
  "notifications/message",
  "notifications/elicitation/complete",
]);
/** As the SDK writes it, one at once. */
const EVENT = /^event: message\n(?:id: [^\n]+\n)?data: ([^\n]+)\n\n$/;

/**
 * The same answer, without the news that come while much of it has not been taken: the SDK puts all into a stream that has
 * no end of room. Results, requests and what changes what is open are never left out; an answer that is no stream is
 * given back as it is. `count` is told how many bytes are held, and by how many fewer once they were taken, or the client
 * has gone.
 */
export function withoutUnreadNews(
  response: Response,
  count: (bytes: number) => void = () => undefined,
): Response {
  const { body, headers } = response;
  if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const made = body.getReader();
  let heldBytes = 0;
  let isOver = false;
  const add = (bytes: number) => {
    if (isOver) return;
    heldBytes += bytes;
    count(bytes);
  };
  const end = () => {
    add(-heldBytes);
    isOver = true;
  };
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      for (let part = await made.read(); !part.done; part = await made.read()) {
        const isFull = (controller.desiredSize ?? 0) <= 0;
        if (isFull && isNews(part.value)) continue;
        controller.enqueue(part.value);
        add(part.value.length);
      }
      controller.close();
    } catch (error) {
      end();
      controller.error(error); // nothing, where the client has gone
    }
  };
  const held = new ReadableStream<Uint8Array>(
    { start: (controller) => void pump(controller), cancel: (reason) => made.cancel(reason) },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  ).getReader();
  const taken = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await held.read();
        if (value === undefined) return controller.close();
        add(-value.length);
        controller.enqueue(value);
      },
      cancel(reason) {
        end();
        return held.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(taken, response);
}

function isNews(event: Uint8Array): boolean {
  if (event.length > MAX_NEWS_BYTES) return false;
  const data = EVENT.exec(new TextDecoder().decode(event))?.[1];
  if (data === undefined) return false; // a comment, or what a stream begins with
  const message: unknown = JSON.parse(data);
  return isJSONRPCNotification(message) && NEWS.has(message.method);
}
