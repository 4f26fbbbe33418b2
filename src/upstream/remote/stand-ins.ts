import { randomUUID } from "node:crypto";

type Message = Readonly<Record<string, unknown>>;

/** Nobody outside can guess it, so no server can pass its own text off as a stand-in. */
const KEY = `sandpy-${randomUUID()}`;

interface Kept {
  readonly message: Message;
  readonly request: string | undefined;
  readonly onGone: (() => void) | undefined;
}

/**
 * The SDK's transports parse what they receive into doubles and check all of it against schemas. So that results keep
 * every digit and are parsed once, the SDK is shown a small result in their place, which is exchanged again when it
 * comes out.
 */
export class StandIns {
  readonly #waiting = new Map<string, Kept>();
  #count = 0;

  /**
   * The text for the SDK in place of `message`, which came as an answer to `request`. `onGone` is called when it comes out,
   * or is forgotten.
   */
  keep(message: Message, request: string | undefined, onGone?: () => void): string {
    const token = String(++this.#count);
    this.#waiting.set(token, { message, request, onGone });
    return JSON.stringify({ jsonrpc: "2.0", id: message["id"], result: { [KEY]: token } });
  }

  /** The message that `received` stands for, under the id that the SDK has given it; or `received` itself. */
  exchange<T>(received: T): T | Message {
    const { result } = received as { result?: Message };
    const token = result?.[KEY];
    if (typeof token !== "string") return received;
    const kept = this.#waiting.get(token);
    this.#waiting.delete(token);
    kept?.onGone?.();
    return kept === undefined ? received : { ...kept.message, id: (received as Message)["id"] };
  }

  /** Nobody waits for answers to this request any more. */
  forget(request: string): void {
    for (const [token, kept] of this.#waiting) {
      if (kept.request !== request) continue;
      this.#waiting.delete(token);
      kept.onGone?.();
    }
  }
}
