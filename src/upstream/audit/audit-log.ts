import { type Closable, withDeadline } from "../../core/lifecycle.ts";
import type { Log } from "../../core/log.ts";
import { RotatingFile } from "../../core/rotating-file.ts";
import { type AuditEntry, renderAuditLine } from "./audit-line.ts";

const FLUSH_MS = 100;
/** What waits for a slow disk; more are only counted. */
const MAX_WAITING = 10_000;
const MAX_WAITING_CHARS = 8 * 1024 ** 2;
const CLOSE_MS = 2000;
const MAX_BYTES = 10 * 1024 ** 2;
const KEEP = 3;

export interface AuditLogOptions {
  /** Absolute. */
  readonly file: string;
  /** Whether a line has a hash of the arguments, or the arguments without what looks like a secret. */
  readonly arguments: "hash" | "masked";
  readonly log: Log;
  /** Bytes until the file is put aside. */
  readonly maxBytes?: number;
}

/**
 * Writes down which tools were called: one line of JSON for each call, a moment later and never in its way. Where that
 * is not possible calls go on, it is said once, and the next line that can be written tells how many are missing. Who
 * creates it closes it: that writes what still waits.
 */
export class AuditLog implements Closable {
  readonly #options: AuditLogOptions;
  readonly #file: RotatingFile;
  /** Calls of this turn of the event loop: their lines are made after the answers have gone out. */
  #fresh: AuditEntry[] = [];
  #rendering: ReturnType<typeof setImmediate> | undefined;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #hasWarned = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  readonly #onProcessExit = () => this.#writeNow();

  constructor(options: AuditLogOptions) {
    this.#options = options;
    const { file: path, maxBytes = MAX_BYTES } = options;
    this.#file = new RotatingFile({ path, maxBytes, keep: KEEP });
    process.once("exit", this.#onProcessExit);
  }

  /** Takes a call that is over. Its arguments must not change any more. */
  record(entry: AuditEntry): void {
    this.#fresh.push(entry);
    this.#rendering ??= setImmediate(() => this.#renderFresh());
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #stop(): Promise<void> {
    this.#renderFresh();
    // A disk that hangs must not keep anybody from leaving.
    await withDeadline(this.#drain(), CLOSE_MS, "writing the audit log").catch((error: unknown) =>
      this.#warn(error),
    );
    clearTimeout(this.#timer);
    process.off("exit", this.#onProcessExit);
  }

  /** Arguments may be large: nothing keeps them until a disk has answered. */
  #renderFresh(): void {
    clearImmediate(this.#rendering);
    this.#rendering = undefined;
    for (const entry of this.#fresh.splice(0)) {
      if (this.#waiting.length >= MAX_WAITING || this.#waitingChars >= MAX_WAITING_CHARS) {
        this.#lost += 1;
        continue;
      }
      const line = renderAuditLine(entry, this.#options.arguments);
      this.#waiting.push(line);
      this.#waitingChars += line.length;
    }
    if (this.#waiting.length > 0) this.#schedule();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing !== undefined) await this.#flush();
  }

  #schedule(): void {
    if (this.#writing === undefined) {
      this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
    }
  }

  /** Writes what waits now; what comes meanwhile waits for the next time. Never rejects. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#waiting.length > 0) this.#schedule();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const lost = this.#lost;
    const lines = this.#takeLines();
    try {
      await this.#file.append(lines.join(""));
      this.#lost -= lost;
    } catch (error) {
      this.#lost += lines.length - Number(lost > 0);
      this.#warn(error);
    }
  }

  /** What waits, after a line that tells how many are missing before. */
  #takeLines(): readonly string[] {
    const gap = `${JSON.stringify({ time: new Date().toISOString(), lost: this.#lost })}\n`;
    this.#waitingChars = 0;
    return [...(this.#lost === 0 ? [] : [gap]), ...this.#waiting.splice(0)];
  }

  /** For an end that nobody waits for. */
  #writeNow(): void {
    this.#renderFresh();
    if (this.#waiting.length > 0) this.#file.appendNow(this.#takeLines().join(""));
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.warning("calls of tools cannot be written down; they go on", {
      file: this.#options.file,
      error: String(error),
    });
  }
}
