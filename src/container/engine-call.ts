import { BoundedText } from "../core/bounded-text.ts";
import { type Child, startChild } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";

const MAX_STDOUT_CHARS = 1 << 20;
const PROGRESS_POLL_MS = 250;

/** One engine command that ends by itself. */
export interface EngineCall {
  /** Absolute path of the engine's client. */
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gets the last line of output when it changed. */
  readonly onProgress?: (line: string) => void;
}

export interface EngineAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs an engine command. A non-zero exit is an answer, not an error. Rejects with `ENGINE_TIMEOUT` naming the command,
 * `ENGINE_FAILED` when the client cannot be started, and `CANCELLED` when the signal was aborted.
 */
export async function callEngine(call: EngineCall): Promise<EngineAnswer> {
  const { signal, timeoutMs } = call;
  if (signal.aborted) throw cancelled(call);
  const child = await startClient(call.executable, call.args, call.env);
  child.endInput();
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(cancelled(call));
  const timer = setTimeout(() => stopped.reject(tooLate(call)), timeoutMs);
  const progress = call.onProgress && setInterval(reportLines(child, call.onProgress), PROGRESS_POLL_MS);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([collect(child, call.onProgress), stopped.promise]);
  } finally {
    clearTimeout(timer);
    clearInterval(progress);
    signal.removeEventListener("abort", onAbort);
    child.kill("SIGKILL");
  }
}

/** Starts the engine's client; rejects with `ENGINE_FAILED` when the system cannot. */
export async function startClient(
  executable: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Child> {
  try {
    return await startChild({ command: executable, args, env });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BridgeError("ENGINE_FAILED", `"${executable}" could not be started: ${reason}`, {
      cause: error,
      hint: "Check that the container engine is installed and may be run by this user.",
    });
  }
}

/** The last line that is not empty, control characters taken out: it goes into messages. */
export function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.replace(/\p{Cc}/gu, " ").trim());
  return lines.findLast((line) => line !== "") ?? "";
}

async function collect(child: Child, onProgress: EngineCall["onProgress"]): Promise<EngineAnswer> {
  const decoder = new TextDecoder();
  const stdout = new BoundedText(MAX_STDOUT_CHARS);
  for await (const chunk of child.stdout) {
    const text = decoder.decode(chunk, { stream: true });
    stdout.append(text);
    if (onProgress !== undefined && lastLine(text) !== "") onProgress(lastLine(text));
  }
  const { code } = await child.exited;
  return { code, stdout: stdout.toString(), stderr: child.stderrText() };
}

function reportLines(child: Child, onProgress: (line: string) => void): () => void {
  let reported = "";
  return () => {
    const line = lastLine(child.stderrText());
    if (line !== "" && line !== reported) onProgress(line);
    reported = line;
  };
}

function cancelled(call: EngineCall): BridgeError {
  return new BridgeError("CANCELLED", `${describe(call)} was cancelled`, { cause: call.signal.reason });
}

function tooLate(call: EngineCall): BridgeError {
  return new BridgeError("ENGINE_TIMEOUT", `${describe(call)} did not answer within ${call.timeoutMs} ms`, {
    hint: `Run the command yourself; if it hangs there too, restart the container engine.`,
  });
}

function describe({ executable, args }: EngineCall): string {
  return `"${[executable.split("/").at(-1), ...args].join(" ")}"`;
}
