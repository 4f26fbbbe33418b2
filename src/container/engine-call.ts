import { BoundedText } from "../core/bounded-text.ts";
import { type Child, startChild } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import { startHeir } from "../core/heir.ts";
import { readOwnLimits, scarcityOf } from "../core/own-limits.ts";

const MAX_STDOUT_CHARS = 1 << 20;

/** One engine command that ends by itself. */
export interface EngineCall {
  /** Absolute path of the engine's client. */
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gets the last line of each piece of output. */
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
  const { onProgress } = call;
  const report = (text: string) => {
    if (onProgress === undefined) return; // a long answer need not be searched for lines
    const line = lastLine(text);
    if (line !== "") onProgress(line);
  };
  const child = await startClient({ ...call, onStderr: report });
  child.endInput();
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(cancelled(call));
  const timer = setTimeout(() => stopped.reject(tooLate(call)), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([collect(child, report), stopped.promise]);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Starts the engine's client; rejects with `ENGINE_FAILED` when the system cannot. It leads a process group: a key
 * pressed in the bridge's terminal must not reach the sandbox through it, and podman without root is two processes.
 */
export async function startClient(client: {
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly onStderr?: (text: string) => void;
  /** Whether the container gets our pipes, and not the client. */
  readonly isHeir?: boolean;
}): Promise<Child> {
  const { executable, isHeir, ...options } = client;
  try {
    const start = isHeir === true ? startHeir : startChild;
    return await start({ ...options, command: executable, ownGroup: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BridgeError("ENGINE_FAILED", `"${executable}" could not be started: ${reason}`, {
      cause: error,
      hint: hintFor(error),
    });
  }
}

function hintFor(error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"].includes(code))
    return "Check that the container engine is installed and may be run by this user.";
  const scarcity = scarcityOf(readOwnLimits());
  const command =
    scarcity === undefined ? "" : ` sandpy ${scarcity.what}; where it is started: ${scarcity.command}`;
  return `The system has no more files or processes for sandpy.${command}`;
}

/** The last line that is not empty, control characters taken out: it goes into messages. */
export function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.replace(/\p{Cc}/gu, " ").trim());
  return lines.findLast((line) => line !== "") ?? "";
}

async function collect(child: Child, report: (text: string) => void): Promise<EngineAnswer> {
  const decoder = new TextDecoder();
  const stdout = new BoundedText(MAX_STDOUT_CHARS);
  for await (const chunk of child.stdout) {
    const text = decoder.decode(chunk, { stream: true });
    stdout.append(text);
    report(text);
  }
  const { code } = await child.exited;
  return { code, stdout: stdout.toString(), stderr: child.stderrText() };
}

function cancelled(call: EngineCall): BridgeError {
  return new BridgeError("CANCELLED", `${describe(call)} was cancelled`, { cause: call.signal.reason });
}

function tooLate(call: EngineCall): BridgeError {
  return new BridgeError("ENGINE_TIMEOUT", `${describe(call)} did not answer within ${call.timeoutMs} ms`, {
    hint: "Run the command yourself; if it hangs there too, restart the container engine.",
  });
}

function describe({ executable, args }: EngineCall): string {
  return `"${[executable.split("/").at(-1), ...args].join(" ")}"`;
}
