import { randomUUID } from "node:crypto";
import type { Place } from "../../core/room.ts";

type Message = Readonly<Record<string, unknown>>;

/** Nobody outside can guess it, so no server can pass its own text off as a stand-in. */
const KEY = `sandpy-${randomUUID()}`;

interface Kept {
  readonly message: Message;
  readonly request: string | undefined;
  readonly place: Place | undefined;
}

/**
 * The SDK's transports parse what they receive into doubles and check all of it against schemas. So that results keep
 * every digit and are parsed once, the SDK is shown a small result in their place, which is exchanged again when it
 * comes out.
 */
export class StandIns {
  readonly #waiting = new Map<unknown, Kept>();
  #count = 0;

  /** The text for the SDK in place of `message`, which came as an answer to `request` and is counted in `place`. */
  keep(message: Message, request: string | undefined, place: Place | undefined): string {
    const token = String(++this.#count);
    place?.share();
    this.#waiting.set(token, { message, request, place });
    return JSON.stringify({ jsonrpc: "2.0", id: message["id"], result: { [KEY]: token } });
  }

  /**
   * Passes on the message that `received` stands for, under the id that the SDK has given it, and where it is counted; or
   * `received` itself.
   */
  exchange(received: Message, pass: (message: Message, place?: Place) => void): void {
    const { result } = received as { result?: Message };
    const token = result?.[KEY];
    const kept = this.#waiting.get(token);
    if (kept === undefined) {
      pass(received);
      return;
    }
    this.#waiting.delete(token);
    try {
      pass({ ...kept.message, id: received["id"] }, kept.place);
    } finally {
      kept.place?.leave();
    }
  }

  /** Nobody waits for answers to this request any more; without one, for none at all. */
  forget(request?: string): void {
    for (const [token, kept] of this.#waiting) {
      if (request !== undefined && kept.request !== request) continue;
      this.#waiting.delete(token);
      kept.place?.leave();
    }
  }
}
