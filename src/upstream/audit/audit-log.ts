import { type Closable, withDeadline } from "../../core/lifecycle.ts";
import type { Log } from "../../core/log.ts";
import { RotatingFile } from "../../core/rotating-file.ts";
import { type AuditEntry, renderAuditLine } from "./audit-line.ts";

const FLUSH_MS = 100;
/** Lines of one write, which are made in one go. */
const MAX_LINES = 256;
/** What waits for a slow disk; more are only counted. */
const MAX_WAITING = 10_000;
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
  #waiting: AuditEntry[] = [];
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
    if (this.#waiting.length >= MAX_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(entry);
    this.#schedule();
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #stop(): Promise<void> {
    // A disk that hangs must not keep anybody from leaving.
    await withDeadline(this.#drain(), CLOSE_MS, "writing the audit log").catch((error: unknown) =>
      this.#warn(error),
    );
    clearTimeout(this.#timer);
    process.off("exit", this.#onProcessExit);
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
    for (let left = this.#waiting.length; left > 0; ) {
      const entries = this.#waiting.splice(0, Math.min(left, MAX_LINES));
      left -= entries.length;
      const lost = this.#lost;
      try {
        await this.#file.append(this.#render(entries, lost));
        this.#lost -= lost;
      } catch (error) {
        this.#lost += entries.length;
        this.#warn(error);
      }
    }
  }

  #render(entries: readonly AuditEntry[], lost: number): string {
    const gap = lost === 0 ? "" : `${JSON.stringify({ time: new Date().toISOString(), lost })}\n`;
    return gap + entries.map((entry) => renderAuditLine(entry, this.#options.arguments)).join("");
  }

  /** For an end that nobody waits for. */
  #writeNow(): void {
    if (this.#waiting.length > 0) this.#file.appendNow(this.#render(this.#waiting.splice(0), this.#lost));
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
