import type { Claim } from "../core/answer-room.ts";
import type { Place } from "../core/room.ts";
import { currentRun } from "../core/run-context.ts";
import { type Caller, currentCaller, workFor } from "./callers.ts";
import type { RawMessage } from "./messages.ts";

/**
 * For which use of the server the requests of one connection were sent. All answers come in by one stream, which belongs
 * to nobody; what an answer brings about, such as a question in it, is done for whoever sent the request.
 */
export class RequestOrigins {
  readonly #origins = new Map<unknown, Origin>();

  /** Takes note of a message that goes out. */
  sent(message: RawMessage): void {
    const { id, method, params } = message as { id?: unknown; method?: unknown; params?: unknown };
    if (method === "notifications/cancelled") {
      this.#origins.delete((params as { readonly requestId?: unknown } | undefined)?.requestId);
      return;
    }
    const origin = { caller: currentCaller(), claim: currentRun().claim };
    const isOfUse = origin.caller !== undefined || origin.claim !== undefined;
    if (method !== undefined && id !== undefined && isOfUse) this.#origins.set(id, origin);
  }

  /** Passes a message that came in to `take`; the place in which it came is kept for whoever it answers. */
  pass(message: RawMessage, place: Place | undefined, take: (message: RawMessage) => void): void {
    const { id, method } = message as { id?: unknown; method?: unknown };
    const origin = method === undefined ? this.#origins.get(id) : undefined;
    if (method === undefined) this.#origins.delete(id);
    if (place !== undefined) origin?.claim?.hold(place);
    if (origin?.caller === undefined) take(message);
    else workFor(origin.caller, () => take(message));
  }
}

interface Origin {
  readonly caller: Caller | undefined;
  readonly claim: Claim | undefined;
}
