import type { Config } from "../config/config.ts";
import type { PythonRunner, RunRequest, RunResult } from "../mcp/python-runner.ts";
import type { Outcome } from "../session/outcome.ts";
import type { Session } from "../session/session.ts";

/** Shows one session as the `run_python` tool wants it. */
export function createSessionRunner(session: Session, config: Config): PythonRunner {
  return {
    async run(request: RunRequest, signal: AbortSignal): Promise<RunResult> {
      const { onOutput, onStart } = request;
      const outcome = await session.execute(
        {
          code: request.code,
          servers: request.servers,
          timeoutMs: request.timeoutSeconds === undefined ? config.timeoutMs : request.timeoutSeconds * 1000,
          onStart,
          ...(onOutput === undefined ? {} : { onOutput: (_name, text, skipped) => onOutput(text, skipped) }),
        },
        signal,
      );
      return toRunResult(outcome);
    },
  };
}

function toRunResult(outcome: Outcome): RunResult {
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
