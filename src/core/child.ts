import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { BoundedText } from "./bounded-text.ts";
import { withDeadline } from "./lifecycle.ts";
import { PipedChild } from "./piped-child.ts";
import { takeTurns } from "./turns.ts";

/** How much of the error output is kept, from both of its ends. */
export const STDERR_TAIL_CHARS = 8192;
const DRAIN_MS = 1000;
const GROUP_POLL_MS = 20;

/** How to start a process. Nothing goes through a shell; the environment is exactly `env`. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /**
   * Makes it lead a process group of its own: `kill` and `stop` then reach all that it started. For wrappers (`npx`, a
   * shell) that die of a signal without passing it on. On Windows there are no groups; the process alone is meant.
   */
  readonly ownGroup?: boolean;
  /** Called once it runs. */
  readonly onSpawn?: (pid: number) => void;
  /** Gets what it writes to stderr as it comes. */
  readonly onStderr?: (text: string) => void;
}

/** How a process ended: an exit code, or the signal that killed it. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running process with piped streams. Its stdout must be read, or it blocks: that is the back-pressure. */
export interface Child {
  readonly pid: number;
  readonly stdout: AsyncIterable<Uint8Array>;
  /** Settles when the process has ended and its stdout was given 1 s to drain. */
  readonly exited: Promise<ChildExit>;
  /** Resolves when the pipe has taken the bytes; rejects when the process is gone. */
  write(bytes: Uint8Array | string): Promise<void>;
  endInput(): void;
  /** The head and the tail of what it wrote to stderr, at most 8 KiB. */
  stderrText(): string;
  kill(signal: NodeJS.Signals): void;
  /** End of stdin, wait `graceMs`, SIGTERM, 1 s, SIGKILL. Resolves when it, or its group, has ended; idempotent. */
  stop(graceMs?: number): Promise<ChildExit>;
}

/**
 * Starts a process; rejects with the system's error (`code` is `ENOENT`, `EACCES`, …) when it cannot be started.
 *
 * node:child_process rather than Bun.spawn: Bun's own stdout stream reads ahead without limit when nobody consumes it
 * (400 MB in 2 s with Bun 1.4.5), the node stream stops reading and so blocks the writer.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const ownGroup = options.ownGroup === true && process.platform !== "win32";
  const child = spawn(options.command, options.args, {
    env: withoutBunVariables(options.env),
    stdio: ["pipe", "pipe", "pipe"],
    detached: ownGroup,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  await once(child, "spawn");
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  return new RunningChild(child, ownGroup, options.onStderr);
}

/** What a finished process left behind. */
export interface ChildResult extends ChildExit {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a process to its end and collects at most `maxChars` of its stdout (head and tail; 1 Mi by default). After
 * `timeoutMs` it is killed and the promise rejects; when `signal` aborts it is killed, which its exit says.
 */
export async function runChild(
  options: ChildOptions & {
    readonly timeoutMs: number;
    readonly maxChars?: number;
    readonly signal?: AbortSignal;
  },
): Promise<ChildResult> {
  const child = await startChild(options);
  child.endInput();
  const { signal } = options;
  const stop = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  const stdout = new BoundedText(options.maxChars ?? 1 << 20);
  const collect = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) stdout.append(decoder.decode(chunk, { stream: true }));
    return child.exited;
  };
  try {
    const exit = await withDeadline(
      collect(),
      options.timeoutMs,
      `"${options.command} ${options.args[0] ?? ""}"`,
    );
    return { ...exit, stdout: stdout.toString(), stderr: child.stderrText() };
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

/**
 * Bun reads `BUN_OPTIONS`, `BUN_BE_BUN` and others, which can run code in any Bun program that we start, ourselves
 * included; no child gets them.
 */
export function withoutBunVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BUN_")));
}

class RunningChild extends PipedChild {
  readonly exited: Promise<ChildExit>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ownGroup: boolean;
  readonly #stderr = new BoundedText(STDERR_TAIL_CHARS);

  constructor(child: ChildProcessWithoutNullStreams, ownGroup: boolean, onStderr: ChildOptions["onStderr"]) {
    super(child, child.stdin, ownGroup);
    this.#child = child;
    this.#ownGroup = ownGroup;
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", () => undefined); // a broken pipe: the exit says it
    }
    // Read in any case: a process whose stderr is full stops.
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr.append(text);
      onStderr?.(text);
    });
    this.exited = this.#waitForExit();
  }

  get stdout(): AsyncIterable<Uint8Array> {
    return takeTurns<Uint8Array>(this.#child.stdout);
  }

  stderrText(): string {
    return this.#stderr.toString().trimEnd();
  }

  protected async endsWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    const exit = await withDeadline(this.exited, ms, `process ${this.pid}`).catch(() => undefined);
    if (exit === undefined) return false;
    while (this.#groupLives()) {
      if (performance.now() > end) return false;
      await sleep(GROUP_POLL_MS);
    }
    return true;
  }

  #groupLives(): boolean {
    if (!this.#ownGroup) return false;
    try {
      return process.kill(-this.pid, 0);
    } catch {
      return false; // ESRCH
    }
  }

  async #waitForExit(): Promise<ChildExit> {
    const closed = once(this.#child, "close");
    const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    // A grandchild may hold the pipes open for ever: give what was written a moment to arrive, then go on.
    await withDeadline(closed, DRAIN_MS, "draining the pipes").catch(() => this.#child.stdout.destroy());
    return { code, signal };
  }
}
