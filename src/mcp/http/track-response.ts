/** What is given to the connection at once; it takes a piece whole, however little of it the client has read. */
const MAX_PIECE_BYTES = 64 * 1024;

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
  let rest: Uint8Array | undefined;
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
        const value = rest ?? (await reader.read()).value;
        if (value !== undefined) {
          rest = value.length > MAX_PIECE_BYTES ? value.subarray(MAX_PIECE_BYTES) : undefined;
          return controller.enqueue(rest === undefined ? value : value.subarray(0, MAX_PIECE_BYTES));
        }
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      end();
      rest = undefined;
      await reader.cancel(reason);
    },
  });
  return new Response(tracked, response);
}
