import type { Caller } from "../core/caller.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { PythonRunner } from "../mcp/python-runner.ts";
import type { HandledSession, SessionHandles } from "../session/handles.ts";
import type { ClientPeer } from "../upstream/client-peer.ts";
import { runInSession } from "./run-in-session.ts";

/** Who is at the other end, and what it may count on. */
export interface ConnectionOptions {
  readonly caller: Caller;
  /** Whether runs that name no session share one, which ends with the connection; else each gets a new one. */
  readonly hasDefault: boolean;
}

/** One client. Closing it ends the session that it has, and no other. */
export interface Connection extends Closable {
  readonly runner: PythonRunner;
}

const NEW = "new";
const ENDED_NOTE =
  "The session was ended. This run began with a fresh Python: variables and imports of earlier runs are gone.";

export interface ConnectionRooms {
  readonly handles: SessionHandles;
  /** Which client each session runs for. */
  readonly peers: SessionPeers;
  readonly defaultTimeoutMs: number;
}

/** The client that each session runs for, or ran for last: it may still do things in the background. */
export type SessionPeers = WeakMap<object, ClientPeer>;

/** Connects a client with the sessions of its caller. */
export function createConnection(
  { caller, hasDefault }: ConnectionOptions,
  { handles, peers, defaultTimeoutMs }: ConnectionRooms,
): Connection {
  let own: HandledSession | undefined;
  const choose = (wanted: string | undefined) => {
    if (wanted === undefined && hasDefault) {
      // Somebody else may end it: Python, the command line, the dashboard.
      const hasEnded = own !== undefined && !handles.isOpen(own.handle);
      if (own === undefined || hasEnded) own = handles.mint(caller, { isOwned: true });
      return { session: own, told: null, notes: hasEnded ? [ENDED_NOTE] : [] };
    }
    const isNew = wanted === undefined || wanted === NEW;
    const session = isNew ? handles.mint(caller, { isOwned: false }) : handles.find(caller, wanted);
    return { session, told: session === own ? null : { handle: session.handle, isNew }, notes: [] };
  };
  const close = async () => {
    if (own !== undefined) await handles.drop(own.handle, "disconnected");
  };
  return {
    runner: {
      async run(request, signal) {
        const { session, told, notes } = choose(request.session);
        const onStart = () => void peers.set(session.session.ref, request.peer);
        const outcome = await handles.use(session.handle, (found) =>
          runInSession(found, { ...request, defaultTimeoutMs, onStart }, signal),
        );
        return { ...outcome, notes: [...notes, ...outcome.notes], session: told };
      },
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
