import type { BridgeEvent, BridgeEvents } from "../../core/bridge-events.ts";
import { TailOutput } from "./tail-output.ts";
import type { CallView, ExecutionView, SessionView } from "./view.ts";

const MAX_SESSIONS = 1024;
const MAX_QUEUED = 256;
const MAX_CALLS = 100;
/** Each caller keeps its own: one that calls without end does not push out what others did. */
const MAX_CALLERS = 256;
const MAX_CODE_CHARS = 8 * 1024;

interface Execution {
  readonly code: string;
  readonly codeLeftOut: number;
  readonly output: TailOutput;
  startedAt: number | undefined;
  outcome: string | undefined;
  durationMs: number | undefined;
}

interface Session {
  readonly id: string;
  readonly callerId: string;
  readonly callerName: string;
  readonly openedAt: number;
  version: number;
  activeAt: number;
  executions: number;
  hasSandbox: boolean;
  readonly queue: Map<string, Execution>;
  runningId: string | undefined;
  shown: Execution | undefined;
}

/** What happened in a bridge so far, as far as a person wants to see it now. */
export interface Feed {
  /** Newest first. */
  sessions(): readonly SessionView[];
  session(id: string): SessionView | undefined;
  /** Of one caller, or of all; newest first. */
  calls(callerId: string | undefined): readonly CallView[];
  /** Grows with everything that happens. */
  readonly version: number;
  /** Calls `listener` after each change; returns how to stop that. */
  onChange(listener: () => void): () => void;
  /** Hears no more. */
  close(): void;
}

/** Follows events; within bounds, whatever comes. `now` is in milliseconds since 1970. */
export function createFeed(events: BridgeEvents, now: () => number = Date.now): Feed {
  const sessions = new Map<string, Session>();
  const calls = new Map<string, CallView[]>();
  const listeners = new Set<() => void>();
  let version = 0;
  let lastCall = 0;

  const open = (event: { sessionId: string; caller: { id: string; name: string } }): Session => {
    const known = sessions.get(event.sessionId);
    if (known !== undefined) return known;
    const session: Session = {
      id: event.sessionId,
      callerId: event.caller.id,
      callerName: event.caller.name,
      openedAt: now(),
      version,
      activeAt: now(),
      executions: 0,
      hasSandbox: false,
      queue: new Map(),
      runningId: undefined,
      shown: undefined,
    };
    if (sessions.size >= MAX_SESSIONS) dropFirst(sessions);
    sessions.set(session.id, session);
    return session;
  };

  const hear = (event: BridgeEvent) => {
    version += 1;
    follow(event);
    const session = event.sessionId === undefined ? undefined : sessions.get(event.sessionId);
    if (session !== undefined) session.version = version;
    for (const listener of listeners) listener();
  };

  const follow = (event: BridgeEvent) => {
    switch (event.kind) {
      case "session-opened":
        open(event);
        return;
      case "session-closed":
        sessions.delete(event.sessionId);
        return;
      case "execution-queued": {
        const { queue } = open(event);
        if (queue.size >= MAX_QUEUED) dropFirst(queue);
        queue.set(event.executionId, createExecution(event.code));
        return;
      }
      case "execution-started": {
        const session = open(event);
        const execution = session.queue.get(event.executionId) ?? createExecution("");
        session.queue.delete(event.executionId);
        execution.startedAt = now();
        session.activeAt = now();
        session.executions += 1;
        session.runningId = event.executionId;
        session.shown = execution;
        return;
      }
      case "execution-output": {
        const session = sessions.get(event.sessionId);
        if (session?.runningId === event.executionId) session.shown?.output.append(event.stream, event.text);
        return;
      }
      case "execution-ended": {
        const session = sessions.get(event.sessionId);
        session?.queue.delete(event.executionId);
        if (session === undefined || session.runningId !== event.executionId) return;
        session.runningId = undefined;
        session.activeAt = now();
        if (session.shown === undefined) return;
        session.shown.outcome = event.outcome;
        session.shown.durationMs = event.durationMs;
        return;
      }
      case "sandbox-started":
      case "sandbox-stopped": {
        const session = sessions.get(event.sessionId); // a start may end after the session
        if (session !== undefined) session.hasSandbox = event.kind === "sandbox-started";
        return;
      }
      case "upstream-called": {
        const { caller, sessionId, startedAtMs: at, server, outcome, durationMs } = event;
        const own = calls.get(caller.id) ?? [];
        calls.delete(caller.id); // so that whoever is silent longest is forgotten first
        calls.set(caller.id, own);
        if (calls.size > MAX_CALLERS) dropFirst(calls);
        lastCall += 1;
        own.push({
          nth: lastCall,
          callerId: caller.id,
          callerName: caller.name,
          sessionId,
          at,
          server,
          tool: event.tool ?? event.method,
          outcome,
          durationMs,
        });
        if (own.length > MAX_CALLS) own.shift();
        return;
      }
      case "kernel-died":
      case "frame-rejected":
        return;
    }
  };

  const stop = events.listen(hear);
  return {
    sessions: () => [...sessions.values()].map(toView).reverse(),
    session(id) {
      const session = sessions.get(id);
      return session === undefined ? undefined : toView(session);
    },
    calls(callerId) {
      const wanted = callerId === undefined ? [...calls.values()].flat() : (calls.get(callerId) ?? []);
      return wanted.toSorted((one, other) => other.nth - one.nth).slice(0, MAX_CALLS);
    },
    get version() {
      return version;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      stop();
      listeners.clear();
    },
  };
}

function createExecution(code: string): Execution {
  return {
    code: code.slice(0, MAX_CODE_CHARS).toWellFormed(),
    codeLeftOut: Math.max(code.length - MAX_CODE_CHARS, 0),
    output: new TailOutput(),
    startedAt: undefined,
    outcome: undefined,
    durationMs: undefined,
  };
}

function toView(session: Session): SessionView {
  const { id, callerId, callerName, version, openedAt, activeAt, executions, hasSandbox } = session;
  const { queue, runningId } = session;
  const idle = hasSandbox ? "idle" : "no sandbox";
  return {
    id,
    callerId,
    callerName,
    version,
    openedAt,
    activeAt,
    executions,
    hasSandbox,
    queued: queue.size,
    state: runningId !== undefined ? "running" : queue.size > 0 ? "waiting" : idle,
    execution: describe(session.shown ?? queue.values().next().value),
  };
}

function describe(execution: Execution | undefined): ExecutionView | undefined {
  if (execution === undefined) return undefined;
  const { code, codeLeftOut, output, startedAt, outcome, durationMs } = execution;
  return { code, codeLeftOut, output, startedAt, outcome, durationMs };
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
