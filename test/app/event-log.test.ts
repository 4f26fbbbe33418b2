import { expect, test } from "bun:test";
import { logEvents } from "../../src/app/event-log.ts";
import { type BridgeEvent, createBridgeEvents } from "../../src/core/bridge-events.ts";
import { createLog, type LogLevel } from "../../src/core/log.ts";
import { withinRun } from "../../src/core/run-context.ts";

const ref = { sessionId: "s1", caller: { id: "token:ada", name: "ada" } };
const SECRET = "the code and what it prints";
const EVENTS: readonly BridgeEvent[] = [
  { kind: "session-opened", ...ref },
  { kind: "execution-queued", executionId: "e1", code: SECRET, ...ref },
  { kind: "execution-started", executionId: "e1", waitedMs: 0.123456, ...ref },
  { kind: "execution-output", executionId: "e1", stream: "stdout", text: SECRET, ...ref },
  {
    kind: "upstream-called",
    executionId: "e1",
    server: "fx",
    method: "tools/call",
    tool: "get",
    outcome: "refused",
    code: "APPROVAL_DENIED",
    startedAtMs: 0,
    durationMs: 1,
    ...ref,
  },
  { kind: "execution-ended", executionId: "e1", outcome: "ok", durationMs: 20, ...ref },
  { kind: "kernel-died", cause: "signal", ...ref },
];

function write(level: LogLevel, executions: "info" | "debug") {
  const lines: string[] = [];
  const events = createBridgeEvents();
  const stop = logEvents(
    events,
    createLog(level, (line) => lines.push(line), "json"),
    executions,
  );
  const { isHeard } = events;
  withinRun({ requestId: "r1" }, () => {
    for (const event of EVENTS) events.emit(event);
  });
  stop();
  for (const event of EVENTS) events.emit(event);
  return { isHeard, lines, entries: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test("tells what happened, by the ids of session, request and execution, and neither code nor output", () => {
  const { entries, lines } = write("DEBUG", "info");
  const ids = { request: "r1", caller: "token:ada", session: "s1" };
  const execution = { ...ids, execution: "e1" };
  expect(entries.map(({ time: _, ...entry }) => entry)).toEqual([
    { level: "DEBUG", message: "a session was opened", ...ids },
    { level: "DEBUG", message: "an execution began", ...execution, waitedMs: 0.12 },
    {
      level: "DEBUG",
      message: "a server was called",
      ...execution,
      server: "fx",
      method: "tools/call",
      tool: "get",
      outcome: "refused",
      code: "APPROVAL_DENIED",
      ms: 1,
    },
    { level: "INFO", message: "an execution ended", ...execution, outcome: "ok", ms: 20 },
    { level: "DEBUG", message: "a Python process died", ...ids, cause: "signal" },
  ]);
  expect(lines.join("")).not.toContain(SECRET);
});

test.each([
  ["INFO", "info", 1, true],
  ["INFO", "debug", 0, false],
  ["WARNING", "info", 0, true],
] as const)("at %s, with executions as %s, writes %d lines", (level, executions, count, isHeard) => {
  const written = write(level, executions);
  expect(written.entries).toHaveLength(count);
  expect(written.isHeard).toBe(isHeard);
});
