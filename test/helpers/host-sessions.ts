import type { HostSessions } from "../../src/kernel/host-sessions.ts";

/** For a test that is not about sessions: there are none. */
export const NO_SESSIONS: HostSessions = {
  listSessions: () => [],
  endSession: async () => {
    throw new Error("the test did not expect this request");
  },
};
