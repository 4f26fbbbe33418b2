import { type Caller, currentCaller, workFor } from "./callers.ts";
import type { RawMessage } from "./messages.ts";

/**
 * For which use of the server the requests of one connection were sent. All answers come in by one stream, which belongs
 * to nobody; what an answer brings about, such as a question in it, is done for whoever sent the request.
 */
export class RequestOrigins {
  readonly #callers = new Map<unknown, Caller>();

  /** Takes note of a message that goes out. */
  sent(message: RawMessage): void {
    const { id, method, params } = message as { id?: unknown; method?: unknown; params?: unknown };
    if (method === "notifications/cancelled") {
      this.#callers.delete((params as { readonly requestId?: unknown } | undefined)?.requestId);
      return;
    }
    const caller = currentCaller();
    if (method !== undefined && id !== undefined && caller !== undefined) this.#callers.set(id, caller);
  }

  /** Passes a message that came in to `take`. */
  pass(message: RawMessage, take: (message: RawMessage) => void): void {
    const { id, method } = message as { id?: unknown; method?: unknown };
    const caller = method === undefined ? this.#callers.get(id) : undefined;
    if (caller === undefined) {
      take(message);
      return;
    }
    this.#callers.delete(id);
    workFor(caller, () => take(message));
  }
}
