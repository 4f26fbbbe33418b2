import { parseRpc } from "../../src/kernel/rpc.ts";
import { createSession, type SessionOptions } from "../../src/session/python-session.ts";
import type { Session } from "../../src/session/session.ts";
import { createHostKernels } from "./host-kernels.ts";
import { createHostMemory } from "./host-memory.ts";
import { NO_SESSIONS } from "./host-sessions.ts";
import { createMemoryLog } from "./logs.ts";

/** A session whose Python runs on this machine; what `options` leave out is as a test that does not care wants it. */
export function createHostSession(options: Partial<SessionOptions> & Pick<SessionOptions, "tools">): Session {
  return createSession({
    kernels: createHostKernels(),
    memory: createHostMemory(),
    sessions: NO_SESSIONS,
    parseRpc,
    log: createMemoryLog(),
    maxOutputChars: 1000,
    idleTimeoutMs: 60_000,
    stateless: false,
    memoryBytes: 512 * 1024 ** 2,
    backgroundBudgetMs: 5000,
    ...options,
  });
}
