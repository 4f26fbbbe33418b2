import type { JSX } from "hono/jsx/jsx-runtime";
import type { Caller } from "../../core/caller.ts";
import { Call, callKey } from "./call.tsx";
import type { Gauges } from "./gauges.ts";
import { Server, serverKey } from "./server.tsx";
import type { SessionBoard } from "./session-board.ts";
import { SessionCard, sessionKey } from "./session-card.tsx";

/** Who looks at a page, and what its forms carry. */
export interface Viewer {
  readonly caller: Caller;
  readonly isAdmin: boolean;
  readonly formToken: string;
  /** Whether there is something to sign out of. */
  readonly hasCookie: boolean;
}

export type ListName = "sessions" | "servers" | "calls";
/** The lists of the page. */
export type Lists = Readonly<Record<ListName, readonly ListEntry[]>>;
/** One entry; its key is the id of its element. `now` in milliseconds since 1970 fills in ages, else the page does. */
export interface ListEntry {
  readonly key: string;
  /** Another one when it looks otherwise, but for ages. */
  readonly signature: string;
  render(now: number | undefined): JSX.Element;
}

const MAX_SHOWN_SESSIONS = 200;
const MAX_SHOWN_SERVERS = 200;

/** What one viewer may see. */
export function listsFor(viewer: Viewer, board: SessionBoard, gauges: Gauges): Lists {
  const { isAdmin, formToken } = viewer;
  const sessions = board.sessionsOf(viewer.caller).slice(0, MAX_SHOWN_SESSIONS);
  return {
    sessions: sessions.map((session) => {
      const memoryBytes = session.hasSandbox ? gauges.memoryBytes(session.id) : undefined;
      const card = { session, memoryBytes, formToken, showsCaller: isAdmin };
      return {
        key: sessionKey(session),
        signature: `${session.version} ${memoryBytes}`,
        render: (now) => <SessionCard {...card} now={now} />,
      };
    }),
    servers: gauges.servers.slice(0, MAX_SHOWN_SERVERS).map((server, nth) => ({
      key: serverKey(nth),
      signature: JSON.stringify(server),
      render: () => <Server server={server} nth={nth} />,
    })),
    calls: board.feed.calls(isAdmin ? undefined : viewer.caller.id).map((call) => ({
      key: callKey(call),
      signature: "",
      render: (now) => <Call call={call} showsCaller={isAdmin} now={now} />,
    })),
  };
}
