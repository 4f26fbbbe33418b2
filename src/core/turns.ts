import { setImmediate as nextTurn } from "node:timers/promises";

/** Beyond what one turn of the event loop should take. */
const TURN_MS = 5;

/**
 * Passes on what `source` gives, and lets everything else have its turn in between: a process that writes without a
 * pause would otherwise be read without one, and no deadline, no signal and no other process would ever be heard.
 */
export async function* takeTurns<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  let beganAt = performance.now();
  for await (const piece of source) {
    yield piece;
    if (performance.now() - beganAt < TURN_MS) continue;
    await nextTurn();
    beganAt = performance.now();
  }
}
