import type { HostSessions } from "../kernel/host-sessions.ts";
import type { RpcMethod } from "./rpc-methods.ts";

/** The requests about the caller's sessions. */
export const SESSION_METHODS: {
  readonly [M in "sessions_list" | "session_end"]: RpcMethod<M, HostSessions>;
} = {
  sessions_list: {
    label: () => "the list of sessions",
    serve: async (sessions) => ({ sessions: sessions.listSessions() }),
  },
  session_end: {
    label: () => "the end of a session",
    serve: async (sessions, { session }) => ({ ended: await sessions.endSession(session) }),
  },
};
