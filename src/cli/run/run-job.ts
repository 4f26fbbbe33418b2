import { loadSettings } from "../../config/load-file.ts";
import { toBridgeError } from "../../core/errors.ts";
import { withDeadline } from "../../core/lifecycle.ts";
import { createLog, type Log } from "../../core/log.ts";
import type { ExecuteRequest, Outcome } from "../../session/outcome.ts";
import type { CliContext, CliIo, StopSignal } from "../context.ts";
import { flush, isLoss, printJson, reportLoss } from "../output.ts";
import { EXIT_SIGNALS, exitCodeOf, exitCodeOfSignal } from "./exit-code.ts";
import { configureJob, jobOverrides } from "./job-config.ts";
import type { JobOptions } from "./job-options.ts";
import { renderFault, renderOutcome } from "./json-result.ts";
import { LiveOutput } from "./live-output.ts";
import { readProgram } from "./script-source.ts";
import { UpstreamCalls } from "./upstream-calls.ts";

const CLOSE_MS = 5000;

/** Runs one program to its end, and returns the exit code. Rejects with a BridgeError where nothing ran. */
export async function runJob(options: JobOptions, { io, createBridge }: CliContext): Promise<number> {
  const stop = new AbortController();
  let signal: StopSignal | undefined;
  const forget = io.onStopSignal((name) => {
    signal ??= name;
    stop.abort();
  });
  try {
    const settings = await loadSettings(io.env, jobOverrides(options, io.env));
    const config = configureJob(settings, options);
    const timeoutMs = options.timeoutMs ?? config.timeoutMs;
    const { code, filename } = await readProgram(options, io.stdin);
    const log = createLog(config.logLevel, (line) => io.stderr.write(line), config.logFormat);
    const calls = new UpstreamCalls();
    const bridge = await createBridge(config, { log });
    bridge.events.listen(calls.note);
    try {
      const session = await bridge.openSession();
      const request: ExecuteRequest = {
        code,
        servers: options.servers,
        timeoutMs,
        script: {
          filename,
          argv: [options.file ?? "-c", ...options.argv],
          env: options.env,
          ...(options.file === "-" ? {} : { stdin: io.stdin }),
        },
      };
      if (!options.json)
        return await runLive(
          request,
          (live) => session.execute(live, stop.signal),
          io,
          () => signal,
          stop,
        );
      const outcome = await session.execute(request, stop.signal);
      const exitCode = exitCodeOf(outcome, signal);
      return (await printJson(io, renderOutcome(outcome, exitCode, calls))) || exitCode;
    } finally {
      await close(bridge, log);
    }
  } catch (error) {
    const stopped = signal === undefined ? undefined : exitCodeOfSignal(signal); // before anything ran
    if (options.json) await printJson(io, renderFault(toBridgeError(error), stopped));
    if (stopped !== undefined) return stopped;
    throw error;
  } finally {
    forget();
  }
}

/** Shows what the program writes as it comes. */
async function runLive(
  request: ExecuteRequest,
  execute: (request: ExecuteRequest) => Promise<Outcome>,
  io: CliIo,
  signal: () => StopSignal | undefined,
  stop: AbortController,
): Promise<number> {
  const stdout = new LiveOutput(io.stdout, () => stop.abort());
  const stderr = new LiveOutput(io.stderr, () => undefined);
  const outcome = await execute({
    ...request,
    onOutput: (name, text) => (name === "stdout" ? stdout : stderr).write(text),
  });
  report(outcome, request.timeoutMs, io);
  await flush(io.stdout);
  return isLoss(stdout.error) ? reportLoss(io, stdout.error) : exitCodeOf(outcome, signal());
}

/** Says on stderr what the program's own output does not. */
function report({ status, error, exitCode, notes }: Outcome, timeoutMs: number, { stderr }: CliIo): void {
  if (status === "cancelled") return; // whoever stopped it knows
  if (error !== null) stderr.write(`${error.traceback.trimEnd()}\n`);
  if (status === "timeout") {
    const seconds = timeoutMs / 1000;
    stderr.write(
      `sandpy: the program was stopped after ${seconds} s\nGive it longer with --timeout=<seconds>.\n`,
    );
    return;
  }
  if (status === "died" && exitCode !== null && exitCode <= EXIT_SIGNALS) return; // os._exit: its own choice
  for (const note of notes) stderr.write(`sandpy: ${note}\n`);
}

async function close(bridge: { close(): Promise<void> }, log: Log): Promise<void> {
  await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
    log.warning("could not clean up", { error: String(error) }),
  );
}
