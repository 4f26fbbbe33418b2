import { loadSettings } from "../../config/load-file.ts";
import { BridgeError, toBridgeError } from "../../core/errors.ts";
import { untilAborted, withDeadline } from "../../core/lifecycle.ts";
import { createLog, type Log } from "../../core/log.ts";
import type { ExecuteRequest } from "../../session/outcome.ts";
import type { CliContext, CliIo, CliSession } from "../context.ts";
import { flush, isLoss, print, reportLoss } from "../output.ts";
import { bringIn } from "./bring-in.ts";
import { exitCodeOf, exitCodeOfSignal } from "./exit-code.ts";
import { GithubStep } from "./github/github.ts";
import { configureJob, jobOverrides } from "./job-config.ts";
import { JobInputs } from "./job-inputs.ts";
import { checkMounts, parseMounts } from "./job-mounts.ts";
import type { JobOptions } from "./job-options.ts";
import type { JobResult } from "./job-result.ts";
import { JobStop } from "./job-stop.ts";
import { renderFault, renderResult } from "./json-result.ts";
import { LiveOutput } from "./live-output.ts";
import { addProgram } from "./modules.ts";
import { report } from "./report.ts";
import { readProgram } from "./script-source.ts";
import { checkOutFolder, OUT_FOLDER, type TakenOut, takeOut } from "./take-out.ts";
import { UpstreamCalls } from "./upstream-calls.ts";

const CLOSE_MS = 5000;
const TAKE_OUT_MS = 60_000;
/** Once a signal came: with the time that a program has at an interrupt less than CI waits until it sends another. */
const HASTY_TAKE_OUT_MS = 5000;

/** Runs one program to its end, and returns the exit code. Rejects with a BridgeError where nothing ran. */
export async function runJob(options: JobOptions, { io, createBridge }: CliContext): Promise<number> {
  const github = GithubStep.of(io);
  const pass = github?.pass ?? ((_name: string, text: string) => text);
  const stop = new JobStop();
  const forget = io.onStopSignal(stop.note);
  try {
    const settings = await loadSettings(io.env, jobOverrides(options, io.env));
    const mounts = await parseMounts(options.mounts, io.env);
    await checkMounts(mounts, settings, options.out);
    const config = { ...configureJob(settings, options), ...(mounts.length > 0 ? { mounts } : {}) };
    const timeoutMs = options.timeoutMs ?? config.timeoutMs;
    // The program may come by a pipe that nobody writes to.
    const prepared = await untilAborted(prepare(options, timeoutMs, io), stop.program);
    if (prepared === undefined) throw notRun();
    const { inputs, request } = prepared;
    const log = createLog(config.logLevel, (line) => io.stderr.write(pass("stderr", line)), config.logFormat);
    const calls = new UpstreamCalls();
    const bridge = await createBridge(config, { log });
    bridge.events.listen(calls.note);
    stop.all.addEventListener("abort", () => void close(bridge, log), { once: true });
    try {
      const session = await bridge.openSession();
      await fill(session, inputs, options, stop.program);
      if (stop.program.aborted) throw notRun();
      const stdout = new LiveOutput(io.stdout, stop.endProgram);
      const stderr = new LiveOutput(io.stderr, () => undefined);
      const show: Pick<ExecuteRequest, "onOutput"> = options.json
        ? {}
        : {
            onOutput: (name, text, _skipped, bytes) =>
              (name === "stdout" ? stdout : stderr).write(github?.pass(name, text) ?? bytes ?? text),
          };
      const outcome = await session.execute({ ...request, ...show }, stop.program);
      const taken = await takeBack(session, options.out, stop);
      const faultCode = stop.name === undefined ? taken.fault?.exitCode : exitCodeOfSignal(stop.name);
      const exitCode = exitCodeOf(outcome, stop.name) || (taken.fault === undefined ? 0 : (faultCode ?? 0));
      const result: JobResult = { outcome, exitCode, inputs, ...taken, calls, timeoutMs: request.timeoutMs };
      if (options.json) {
        const failed = await printResult(io, renderResult(result));
        await github?.finish(options.file ?? "-c", result, inputs);
        return failed || exitCode;
      }
      report(result, (text) => io.stderr.write(pass("stderr", text)));
      await github?.finish(options.file ?? "-c", result, inputs);
      await flush(io.stdout);
      return isLoss(stdout.error) ? reportLoss(io, stdout.error) : exitCode;
    } finally {
      await close(bridge, log);
    }
  } catch (error) {
    const stopped = stop.name === undefined ? undefined : exitCodeOfSignal(stop.name); // before anything ran
    if (options.json) await printResult(io, renderFault(toBridgeError(error), stopped));
    if (stopped !== undefined) return stopped;
    throw github?.fail(toBridgeError(error)) ?? error;
  } finally {
    forget();
  }
}

function notRun(): BridgeError {
  return new BridgeError("CANCELLED", "it was stopped before the program ran");
}

/** Reads the program and looks at what goes with it; nothing is started. */
async function prepare(
  options: JobOptions,
  timeoutMs: number,
  io: CliIo,
): Promise<{ readonly inputs: JobInputs; readonly request: ExecuteRequest }> {
  if (options.out !== undefined) await checkOutFolder(options.out);
  const { code, filename } = await readProgram(options, io.stdin);
  const inputs = new JobInputs();
  const own = options.file === undefined || options.file === "-" ? undefined : options.file;
  const place = own === undefined ? undefined : await addProgram(inputs, own, code);
  for (const given of options.inputs) await inputs.add(given);
  const request: ExecuteRequest = {
    code,
    servers: options.servers,
    timeoutMs,
    script: {
      filename: place ?? filename,
      argv: [place ?? options.file ?? "-c", ...options.argv],
      env: options.env,
      ...(options.file === "-" ? {} : { stdin: io.stdin }),
    },
  };
  return { inputs, request };
}

/** Brings files into the sandbox, which starts for them where there are any. */
async function fill(
  session: CliSession,
  inputs: JobInputs,
  { out }: JobOptions,
  signal: AbortSignal,
): Promise<void> {
  if (inputs.files.length === 0 && inputs.folders.length === 0 && out === undefined) return;
  const workspace = await session.filesBefore(signal);
  await bringIn(inputs, workspace, signal);
  if (out !== undefined) await workspace.makeFolder(OUT_FOLDER);
}

const NOTHING: TakenOut = { files: [], notes: [] };

/** Takes files out also where the program failed or was stopped; what goes wrong with that is told beside how it ended. */
async function takeBack(
  session: CliSession,
  out: string | undefined,
  { program, all }: JobStop,
): Promise<TakenOut & { readonly fault?: BridgeError }> {
  if (out === undefined || all.aborted) return NOTHING;
  const over = new AbortController();
  const end = () => over.abort();
  let timer = setTimeout(end, TAKE_OUT_MS);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(end, HASTY_TAKE_OUT_MS);
  };
  if (program.aborted) hurry();
  program.addEventListener("abort", hurry, { once: true });
  all.addEventListener("abort", end, { once: true });
  try {
    const workspace = await session.filesAfter();
    if (workspace === undefined) {
      return { files: [], notes: ["The sandbox is gone, and the files in it: nothing was brought back."] };
    }
    return await takeOut(workspace, out, over.signal);
  } catch (error) {
    return { ...NOTHING, fault: toBridgeError(error) };
  } finally {
    clearTimeout(timer);
    program.removeEventListener("abort", hurry);
    all.removeEventListener("abort", end);
  }
}

/** No text in it is what a runner of GitHub Actions would take for a command. */
function printResult(io: CliIo, result: object): Promise<number> {
  return print(io, `${JSON.stringify(result, undefined, 2).replaceAll("##[", "#\\u0023[")}\n`);
}

async function close(bridge: { close(): Promise<void> }, log: Log): Promise<void> {
  await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
    log.warning("could not clean up", { error: String(error) }),
  );
}
