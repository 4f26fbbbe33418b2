/** A comment, which readers of events skip. */
const OPENING = new TextEncoder().encode(": open\n\n");

/**
 * The same answer; `onEnd` is called once when its body has been sent, cannot be made, or nobody wants it any more. Data
 * is taken from the body only when the client has room for it.
 */
export function trackResponse(response: Response, onEnd: () => void): Response {
  const { body } = response;
  if (body === null) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const tracked = new ReadableStream<Uint8Array>({
    start(controller) {
      // Bun (1.4.5) sends the headers with the first data, and a client waits for them.
      if (isEvents) controller.enqueue(OPENING);
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      onEnd();
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason);
    },
  });
  return new Response(tracked, response);
}
