import type { BridgeEvent, BridgeEvents, SessionRef } from "../core/bridge-events.ts";
import type { Log, LogFields } from "../core/log.ts";

/**
 * Writes to the log what happens in a bridge: its executions with `executions`, all else at `DEBUG`. Code and output are
 * not in it. Returns how to stop.
 */
export function logEvents(events: BridgeEvents, log: Log, executions: "info" | "debug"): () => void {
  if (executions === "debug" && log.level !== "DEBUG") return () => undefined; // an event that nobody hears costs nothing
  return events.listen((event) => {
    const told = describe(event);
    if (told === undefined) return;
    const level = event.kind === "execution-ended" ? executions : "debug";
    // Not every event comes from within the run that it is about.
    log[level](told.message, { ...idsOf(event), ...told.fields });
  });
}

function idsOf(event: BridgeEvent & SessionRef): LogFields {
  const execution = "executionId" in event ? event.executionId : undefined;
  const ids = { caller: event.caller.id, session: event.sessionId };
  return execution === undefined ? ids : { ...ids, execution };
}

function describe(event: BridgeEvent): { message: string; fields?: LogFields } | undefined {
  switch (event.kind) {
    case "session-opened":
      return { message: "a session was opened" };
    case "session-closed":
      return { message: "a session was closed", fields: { reason: event.reason } };
    case "execution-started":
      return { message: "an execution began", fields: { waitedMs: round(event.waitedMs) } };
    case "execution-ended": {
      const { outcome, code, durationMs } = event;
      return { message: "an execution ended", fields: { outcome, code, ms: round(durationMs) } };
    }
    case "sandbox-started": {
      const { fromPool, durationMs } = event;
      return { message: "a session has its sandbox", fields: { fromPool, ms: round(durationMs) } };
    }
    case "sandbox-stopped":
      return { message: "a session's sandbox stopped" };
    case "kernel-died":
      return { message: "a Python process died", fields: { cause: event.cause } };
    case "upstream-called": {
      const { server, method, tool, outcome, code, durationMs } = event;
      const ms = round(durationMs);
      return { message: "a server was called", fields: { server, method, tool, outcome, code, ms } };
    }
    case "execution-queued": // its start says how long it waited
    case "execution-output":
    case "frame-rejected": // said where it is read
      return undefined;
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
