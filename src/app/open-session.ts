import type { Config } from "../config/config.ts";
import { type BridgeEvents, createSessionRef } from "../core/bridge-events.ts";
import type { Caller } from "../core/caller.ts";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tracing } from "../core/tracing.ts";
import type { HostSessions } from "../kernel/host-sessions.ts";
import { parseRpc } from "../kernel/rpc.ts";
import type { Memory } from "../memory/memory.ts";
import { SessionHandles } from "../session/handles.ts";
import type { KernelSource } from "../session/kernel-source.ts";
import { createSession } from "../session/python-session.ts";
import type { Session } from "../session/session.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { SessionPeers } from "./connection.ts";

/** What all sessions share. */
export interface SessionRooms {
  readonly config: Config;
  readonly log: Log;
  readonly events: BridgeEvents;
  /** Where executions are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
  readonly upstream: Upstream;
  readonly memory: Memory;
}

/** A session that is known by no handle, as that of the command line. */
export const NO_SESSIONS: HostSessions = {
  listSessions: () => [],
  endSession: async (handle) => {
    throw new BridgeError("SESSION_UNKNOWN", `there is no session ${JSON.stringify(handle)}`, {
      hint: "There are no sessions but this one here.",
    });
  },
};

/** Makes a session; nothing is started for it before its first run. `peers` tells which client it runs for. */
export function openSession(
  { config, log, events, tracing, upstream, memory }: SessionRooms,
  caller: Caller,
  kernels: KernelSource,
  sessions: HostSessions = NO_SESSIONS,
  peers?: SessionPeers,
): Session {
  const ref = createSessionRef(caller);
  return createSession({
    ref,
    events,
    tracing,
    kernels,
    tools: upstream.openSession(() => peers?.get(ref), ref),
    memory: memory.openSession(caller),
    sessions,
    parseRpc,
    log,
    maxOutputChars: config.maxOutputChars,
    idleTimeoutMs: config.idleTimeoutMs,
    stateless: config.stateless,
    memoryBytes: config.memoryBytes,
    backgroundBudgetMs: config.timeoutMs,
  });
}

/** The sessions of all callers, with the limits of the settings. The caller closes them. */
export function createHandles(
  rooms: SessionRooms,
  kernels: KernelSource,
  peers: SessionPeers,
): SessionHandles {
  return new SessionHandles({
    limits: rooms.config.sessions,
    open: (caller, sessions) => openSession(rooms, caller, kernels, sessions, peers),
    log: rooms.log,
  });
}
