import type { BridgeEvents } from "../core/bridge-events.ts";
import { type Caller, LOCAL_CALLER } from "../core/caller.ts";
import type { SessionControl } from "../mcp/dashboard/port.ts";
import { createSessionBoard, type SessionBoard } from "../mcp/dashboard/session-board.ts";
import type { SessionHandles } from "../session/handles.ts";

export interface BoardOptions {
  readonly events: BridgeEvents;
  readonly handles: Pick<SessionHandles, "byId" | "drop">;
  /** Names of tokens, or whole ids, of those who see the sessions of all. */
  readonly admins: readonly string[];
}

/** Watches the sessions, for those who may see them and act on them. The caller closes it. */
export function openBoard({ events, handles, admins }: BoardOptions): SessionBoard {
  return createSessionBoard({
    events,
    control: createControl(handles),
    isAdmin: (caller) => isAdmin(caller, admins),
  });
}

/** A subject of an issuer is meant only by the whole id: which name it has there, others may choose. */
function isAdmin({ id }: Caller, admins: readonly string[]): boolean {
  return id === LOCAL_CALLER.id || admins.some((admin) => id === admin || id === `token:${admin}`);
}

function createControl(handles: BoardOptions["handles"]): SessionControl {
  return {
    async act(sessionId, action) {
      const found = handles.byId(sessionId);
      if (found === undefined) return false;
      switch (action) {
        case "interrupt":
          return found.session.interrupt();
        case "reset":
          await found.session.reset();
          return true;
        case "end":
          await handles.drop(found.handle, "ended");
          return true;
      }
    },
    memoryBytes: async (sessionId) => handles.byId(sessionId)?.session.measure(),
  };
}
