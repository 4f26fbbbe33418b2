import type { ReconnectionScheduler } from "@modelcontextprotocol/client";

const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

/** When broken streams are opened again. */
export interface Reconnector {
  readonly schedule: ReconnectionScheduler;
  /** A message came: the next pause is short again. */
  reset(): void;
  cancel(): void;
}

/**
 * Opens streams again after the pause that the server asks for, or that the SDK chooses, within bounds: a server that
 * ends every stream at once and asks for no pause would keep both sides busy. Pauses double until a message comes.
 */
export function createReconnector(): Reconnector {
  const timers = new Set<NodeJS.Timeout>();
  let barren = 0;
  return {
    schedule: (reconnect, delayMs) => {
      const floor = SHORTEST_PAUSE_MS * 2 ** Math.min(barren++, 10);
      const timer = setTimeout(
        () => {
          timers.delete(timer);
          reconnect();
        },
        Math.min(Math.max(delayMs, floor), LONGEST_PAUSE_MS),
      );
      timer.unref();
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    reset: () => {
      barren = 0;
    },
    cancel: () => {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
