import { type Caller, LOCAL_CALLER } from "../core/caller.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import type { HostMemory } from "../kernel/host-memory.ts";
import { HOLD_WAIT_MS, LEASE_MS } from "./limits.ts";
import { Locks } from "./locks.ts";
import { ProjectFiles } from "./projects/project-files.ts";
import { CallerRoot } from "./root.ts";
import { type Kept, SessionMemory } from "./session-memory.ts";
import { MemoryStore } from "./store.ts";
import { ToolsFile } from "./tools-file.ts";
import { Usage } from "./usage.ts";

export interface MemoryOptions {
  /** Absolute. */
  readonly stateDir: string;
  /** What one caller may keep. */
  readonly quotaBytes: number;
  readonly log: Log;
  /** How long something may be held, and how long one that holds it is waited for: 60 s and 8 s. */
  readonly leaseMs?: number;
  readonly waitMs?: number;
}

/** All that is kept for those who run code. */
export interface Memory extends Closable {
  /** What one session may do with what is kept for `caller`, the local one if absent. */
  openSession(caller?: Caller): HostMemory;
}

/** Opens what is kept below a state directory, which is not touched before something is asked for. */
export function createMemory(options: MemoryOptions): Memory {
  const { stateDir, quotaBytes, log, leaseMs = LEASE_MS, waitMs = HOLD_WAIT_MS } = options;
  const locks = new Locks(waitMs);
  const callers = new Map<string, Kept>();
  const sessions = new Set<SessionMemory>();

  const open = (caller: Caller): Kept => {
    const root = new CallerRoot(stateDir, caller);
    const usage = new Usage(root.projects, quotaBytes);
    return {
      root,
      locks,
      memories: new MemoryStore(root, usage),
      tools: new ToolsFile(root, usage),
      projects: new ProjectFiles(),
    };
  };
  const close = async () => {
    await Promise.all([...sessions].map((session) => session.releaseAll()));
    sessions.clear();
  };

  return {
    openSession(caller = LOCAL_CALLER) {
      const kept = callers.get(caller.id) ?? open(caller);
      callers.set(caller.id, kept);
      const session = new SessionMemory(kept, { leaseMs, waitMs, log });
      sessions.add(session);
      return session;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
