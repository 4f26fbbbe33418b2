import { BridgeError } from "../core/errors.ts";

/** Servers that start at once: most are `npx` or `uvx`, and each of these keeps a core busy for seconds. */
const MAX_STARTING = 8;
const MAX_WAITING = 2000;

/** Lets only so many servers start at the same time; the others wait their turn. */
export class StartQueue {
  readonly #waiting: (() => void)[] = [];
  #active = 0;

  /** Runs `start` in its turn. Rejects with `LIMIT_EXCEEDED` where too many wait already. */
  async run<T>(start: () => Promise<T>): Promise<T> {
    if (this.#active < MAX_STARTING) this.#active += 1;
    else {
      if (this.#waiting.length >= MAX_WAITING) {
        const message = `more than ${MAX_WAITING} servers wait to be started`;
        throw new BridgeError("LIMIT_EXCEEDED", message, { hint: "Use fewer servers at once." });
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve)); // the place is handed over
    }
    try {
      return await start();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#active -= 1;
      else next();
    }
  }
}
