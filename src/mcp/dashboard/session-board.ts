import type { BridgeEvents } from "../../core/bridge-events.ts";
import type { Caller } from "../../core/caller.ts";
import type { Closable } from "../../core/lifecycle.ts";
import { createFeed, type Feed } from "./feed.ts";
import { MemoryGauge } from "./memory-gauge.ts";
import type { SessionAction, SessionControl } from "./port.ts";
import type { SessionView } from "./view.ts";

export interface SessionBoardOptions {
  readonly events: BridgeEvents;
  readonly control: SessionControl;
  /** Whether somebody sees and ends the sessions of all others too. */
  readonly isAdmin: (caller: Caller) => boolean;
}

/** `nothing`: there was nothing to do. `unknown`: there is no such session, or it is not theirs. */
export type ActOutcome = "done" | "nothing" | "unknown";

/** The sessions of a server, as those see them and act on them who are let in. Closing hears no more. */
export interface SessionBoard extends Closable {
  readonly feed: Feed;
  readonly memory: MemoryGauge;
  isAdmin(caller: Caller): boolean;
  /** The sessions that a caller may see and act on: their own, and all of them with the role for it; newest first. */
  sessionsOf(caller: Caller): readonly SessionView[];
  /** The ids of all that have a sandbox. */
  sandboxes(): readonly string[];
  /** Rejects where it failed. */
  act(caller: Caller, sessionId: string, action: SessionAction): Promise<ActOutcome>;
}

/** Follows what happens from now on. The caller closes it. */
export function createSessionBoard({ events, control, isAdmin }: SessionBoardOptions): SessionBoard {
  const feed = createFeed(events);
  const sessionsOf = (caller: Caller) =>
    feed.sessions().filter(({ callerId }) => callerId === caller.id || isAdmin(caller));
  const close = async () => feed.close();
  return {
    feed,
    memory: new MemoryGauge(control),
    isAdmin,
    sessionsOf,
    sandboxes: () =>
      feed
        .sessions()
        .filter(({ hasSandbox }) => hasSandbox)
        .map(({ id }) => id),
    async act(caller, sessionId, action) {
      if (!sessionsOf(caller).some(({ id }) => id === sessionId)) return "unknown";
      return (await control.act(sessionId, action)) ? "done" : "nothing";
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
