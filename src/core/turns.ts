import { setImmediate as nextTurn } from "node:timers/promises";

/** Beyond what one turn of the event loop should take. */
const TURN_MS = 5;

/**
 * Returns a function to call in between while work comes in without a pause: it gives everything else its turn where
 * that is due. Else no deadline, no signal and no other process would ever be heard.
 */
export function createTurns(): () => Promise<void> | undefined {
  let beganAt = performance.now();
  const pause = async () => {
    await nextTurn();
    beganAt = performance.now();
  };
  return () => (performance.now() - beganAt < TURN_MS ? undefined : pause());
}

/** Passes on what `source` gives, which may never pause, and lets everything else have its turn. */
export function takeTurns<T>(source: AsyncIterable<T>): AsyncIterable<T> {
  return {
    // Not a generator around another: each piece would cost three promises more.
    [Symbol.asyncIterator]() {
      const pieces = source[Symbol.asyncIterator]();
      const turn = createTurns();
      return {
        next() {
          const pause = turn();
          return pause === undefined ? pieces.next() : pause.then(() => pieces.next());
        },
        async return() {
          await pieces.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
