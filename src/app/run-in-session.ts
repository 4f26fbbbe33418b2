import type { RunRequest, RunResult } from "../mcp/python-runner.ts";
import type { Outcome } from "../session/outcome.ts";
import type { Session } from "../session/session.ts";

export interface SessionRun extends RunRequest {
  /** For a run that says nothing of its time. */
  readonly defaultTimeoutMs: number;
  /** Called when it is the run's turn. */
  readonly onStart: () => void;
}

/** Runs the code of a `run_python` in a session. Rejects as {@link Session.execute} does. */
export async function runInSession(
  session: Session,
  { code, servers, timeoutSeconds, defaultTimeoutMs, ready, onStart, onOutput }: SessionRun,
  signal: AbortSignal,
): Promise<Omit<RunResult, "session">> {
  const outcome = await session.execute(
    {
      code,
      servers,
      timeoutMs: timeoutSeconds === undefined ? defaultTimeoutMs : timeoutSeconds * 1000,
      onStart,
      ...(ready === undefined ? {} : { ready }),
      ...(onOutput === undefined ? {} : { onOutput: (_name, text, skipped) => onOutput(text, skipped) }),
    },
    signal,
  );
  return toRunResult(outcome);
}

function toRunResult(outcome: Outcome): Omit<RunResult, "session"> {
  return {
    status: outcome.status,
    stdout: outcome.stdout.text,
    stderr: outcome.stderr.text,
    result: outcome.result,
    error: outcome.error,
    exitCode: outcome.exitCode,
    notes: [...lateNotes(outcome), ...outcome.notes],
    images: outcome.images,
    truncated: outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0,
    durationMs: outcome.durationMs,
  };
}

function lateNotes({ late }: Outcome): string[] {
  return [late.stdout.text, late.stderr.text]
    .filter((text) => text !== "")
    .map((text) => `Written since the previous call, by code still running in the background:\n${text}`);
}
