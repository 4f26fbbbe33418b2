import { setTimeout as sleep } from "node:timers/promises";
import { BridgeError } from "../core/errors.ts";
import { acquireFileLock, type FileLock } from "../core/file-lock.ts";
import { MAX_TIMER_MS } from "../core/lifecycle.ts";

/** So long one process may pass the file's lock on among its own before others get their chance. */
const MAX_KEPT_MS = 200;
/** Others look again within this. */
const CHANCE_MS = 20;

/** A lock that is held. */
export interface Held {
  /** Whether it still is: a process that was stopped for minutes is taken for dead by others. */
  isHeld(): Promise<boolean>;
  /** Gives it back. Never rejects; a second call does nothing. */
  release(): Promise<void>;
}

interface Entry {
  readonly waiting: (() => void)[];
  isTaken: boolean;
  grantedAt: number;
  file: FileLock | undefined;
  /** Since when this process has the file's lock. */
  keptSince: number;
}

/**
 * Locks by the path of a file: first those of this process, in the order in which they asked, then against all others.
 * `waitMs` is how long one holder is waited for.
 */
export class Locks {
  readonly #entries = new Map<string, Entry>();
  readonly waitMs: number;

  constructor(waitMs: number) {
    this.waitMs = waitMs;
  }

  /** Rejects with `LIMIT_EXCEEDED` when one holder keeps it for too long, or as `signal` says. */
  async acquire(path: string, signal: AbortSignal): Promise<Held> {
    const entry = this.#entries.get(path) ?? {
      waiting: [],
      isTaken: false,
      grantedAt: 0,
      file: undefined,
      keptSince: 0,
    };
    this.#entries.set(path, entry);
    if (entry.isTaken) await this.#wait(entry, path, signal);
    else this.#grant(entry);
    try {
      if (entry.file === undefined) {
        entry.file = await acquireFileLock(path, { waitMs: this.waitMs, signal });
        entry.keptSince = performance.now();
        entry.grantedAt = entry.keptSince;
      }
      signal.throwIfAborted();
    } catch (error) {
      await this.#pass(entry, path);
      throw error;
    }
    const { file } = entry;
    let isGiven = false;
    return {
      isHeld: async () => !isGiven && (await file.isHeld()),
      release: async () => {
        if (isGiven) return;
        isGiven = true;
        await this.#pass(entry, path);
      },
    };
  }

  #grant(entry: Entry): void {
    entry.isTaken = true;
    entry.grantedAt = performance.now();
  }

  async #wait(entry: Entry, path: string, signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<"turn">();
    const take = () => turn.resolve("turn");
    entry.waiting.push(take);
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const since = performance.now();
    try {
      for (;;) {
        const leftMs = Math.max(entry.grantedAt, since) + this.waitMs - performance.now();
        const patience = sleep(Math.min(Math.max(leftMs, 0), MAX_TIMER_MS), "late" as const, {
          signal: either,
        });
        const first = await Promise.race([turn.promise, patience]);
        if (first === "turn") return;
        if (Math.max(entry.grantedAt, since) + this.waitMs <= performance.now()) {
          throw new BridgeError("LIMIT_EXCEEDED", `${JSON.stringify(path)} was held for too long`);
        }
      }
    } catch (error) {
      const at = entry.waiting.indexOf(take);
      if (at === -1)
        await this.#pass(entry, path); // it was ours in the same moment
      else entry.waiting.splice(at, 1);
      throw signal.aborted ? signal.reason : error;
    } finally {
      stop.abort();
    }
  }

  /** Hands over to the next in this process, or gives the file's lock back. */
  async #pass(entry: Entry, path: string): Promise<void> {
    const isOld = performance.now() - entry.keptSince > MAX_KEPT_MS;
    if (entry.file !== undefined && (isOld || entry.waiting.length === 0)) {
      const { file } = entry;
      entry.file = undefined;
      await file.release().catch(() => undefined); // the folder is gone, or read-only: nobody else can lock there
      if (entry.waiting.length > 0) await sleep(CHANCE_MS);
    }
    const next = entry.waiting.shift();
    if (next !== undefined) {
      this.#grant(entry);
      next();
      return;
    }
    entry.isTaken = false;
    this.#entries.delete(path);
  }
}
