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
  const tracked = new ReadableStream<Uint8Array>({
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
