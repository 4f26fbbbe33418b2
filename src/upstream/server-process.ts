import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { BoundedText } from "../core/bounded-text.ts";
import type { ChildExit } from "../core/child.ts";
import { withDeadline } from "../core/lifecycle.ts";

const STDERR_TAIL_CHARS = 8192;
const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 1000;
const DRAIN_MS = 1000;
const GROUP_POLL_MS = 20;

/** How to start a server. The environment is exactly `env`. */
export interface ServerProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** Gets what the server writes to stderr as it comes. */
  readonly onStderr: (text: string) => void;
}

/**
 * A server's process and everything that it started. It leads a process group of its own, since most servers are
 * started by a wrapper (`npx`, `uvx`, a shell) that dies of a signal without passing it on: only a signal to the group
 * reaches the server itself.
 */
export class ServerProcess {
  readonly pid: number;
  /** Settles when the first process has ended and its stdout was given 1 s to drain. */
  readonly exited: Promise<ChildExit>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #stderr = new BoundedText(STDERR_TAIL_CHARS);
  #stopping: Promise<void> | undefined;

  private constructor(child: ChildProcessWithoutNullStreams, onStderr: (text: string) => void) {
    this.#child = child;
    this.pid = child.pid ?? -1;
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", () => undefined); // a broken pipe: the exit says it
    }
    // Read in any case: a server whose stderr is full stops answering.
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr.append(text);
      onStderr(text);
    });
    this.exited = this.#waitForExit();
  }

  /** Starts the process; rejects with the system's error (`code` is `ENOENT`, `EACCES`, …). */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const child = spawn(options.command, options.args, {
      env: options.env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    await once(child, "spawn");
    return new ServerProcess(child, options.onStderr);
  }

  get stdout(): AsyncIterable<Uint8Array> {
    return this.#child.stdout;
  }

  /** Resolves when the pipe has taken the text; rejects when the process is gone. */
  async write(text: string): Promise<void> {
    const { stdin } = this.#child;
    if (!stdin.writable) throw new Error("the process has ended");
    await new Promise<void>((resolve, reject) => {
      stdin.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The head and the tail of what it wrote to stderr, at most 8 KiB. */
  stderrText(): string {
    return this.#stderr.toString().trim();
  }

  /** Sends a signal to the process and all that it started. */
  kill(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-this.pid, signal);
    } catch {
      // ESRCH: nobody is left
    }
  }

  /** End of stdin, wait `graceMs`, SIGTERM, 1 s, SIGKILL; idempotent. Afterwards nothing of the group is left. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#climbLadder(graceMs);
    return this.#stopping;
  }

  async #climbLadder(graceMs: number): Promise<void> {
    this.#child.stdin.end();
    if (!(await this.#groupEnds(graceMs))) {
      this.kill("SIGTERM");
      if (!(await this.#groupEnds(TERM_GRACE_MS))) this.kill("SIGKILL");
    }
    await withDeadline(this.exited, KILL_GRACE_MS, `killing process ${this.pid}`).catch(() => undefined);
  }

  /** Whether the whole group has ended within `ms`. */
  async #groupEnds(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    const left = () => Math.max(0, end - performance.now());
    const exit = await withDeadline(this.exited, ms, `process ${this.pid}`).catch(() => undefined);
    if (exit === undefined) return false;
    while (this.#groupLives()) {
      if (left() === 0) return false;
      await sleep(Math.min(GROUP_POLL_MS, left()));
    }
    return true;
  }

  #groupLives(): boolean {
    if (process.platform === "win32") return false;
    try {
      process.kill(-this.pid, 0);
      return true;
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
