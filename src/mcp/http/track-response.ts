/**
 * The same answer; `onEnd` is called once when its body has been sent, cannot be made, or nobody wants it any more. Data
 * is taken from the body only when the client has room for it. `opening` goes before it.
 */
export function trackResponse(response: Response, onEnd: () => void, opening?: Uint8Array): Response {
  const { body } = response;
  if (body === null) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  let isOpen = true;
  // A client that leaves ends the read under way as well.
  const end = () => {
    if (isOpen) onEnd();
    isOpen = false;
  };
  const tracked = new ReadableStream<Uint8Array>({
    start(controller) {
      if (opening !== undefined) controller.enqueue(opening);
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
  return new Response(tracked, response);
}
