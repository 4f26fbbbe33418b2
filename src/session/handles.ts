import { randomBytes } from "node:crypto";
import type { Caller } from "../core/caller.ts";
import { BridgeError } from "../core/errors.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import type { HostSessions, SessionEntry } from "../kernel/host-sessions.ts";
import type { Session } from "./session.ts";

/** 192 bits: nobody finds one by trying. */
const HANDLE_BYTES = 24;
const HANDLE = /^s_[\w-]{32}$/;
const NAMED_IN_ERRORS = 3;
const MAX_SWEEP_MS = 60_000;
const NOTHING_RUN = "nothing was run";

export interface SessionLimits {
  /** Sessions of all callers. */
  readonly total: number;
  readonly perCaller: number;
  /** A session without a run for so long is ended. */
  readonly ttlMs: number;
}

export interface SessionHandlesOptions {
  readonly limits: SessionLimits;
  /** Makes a session; nothing is started for it before its first run. */
  readonly open: (caller: Caller, sessions: HostSessions) => Session;
  readonly log: Log;
  /** Milliseconds of a clock that only goes forward. */
  readonly now?: () => number;
}

/** A session that is known by a handle. */
export interface HandledSession {
  /** A secret: who has it, and is the caller that it was given to, may use the session. */
  readonly handle: string;
  readonly session: Session;
}

interface Entry extends HandledSession {
  readonly caller: Caller;
  readonly openedAt: number;
  /** Ends with something else than time, such as its connection. */
  readonly isOwned: boolean;
  usedAt: number;
  active: number;
  runs: number;
  /** Somebody came back with its handle. */
  isKept: boolean;
  isEnding: boolean;
}

/** All sessions, each known to its caller alone. The caller of this closes it, and them with it. */
export class SessionHandles implements Closable {
  readonly #options: SessionHandlesOptions;
  readonly #entries = new Map<string, Entry>();
  /** The ends of sessions that are under way: closing waits for them. */
  readonly #ending = new Set<Promise<void>>();
  readonly #now: () => number;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #closing: Promise<void> | undefined;

  constructor(options: SessionHandlesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#sweeper = setInterval(() => this.sweep(), Math.min(MAX_SWEEP_MS, options.limits.ttlMs));
    this.#sweeper.unref();
  }

  /**
   * Opens a session. One that is `owned` ends when its owner ends it; another also after `ttlMs` without a run, or when
   * room is needed and nobody has come back to it. Throws `LIMIT_EXCEEDED` where there is no room.
   */
  mint(caller: Caller, { isOwned }: { readonly isOwned: boolean }): HandledSession {
    if (this.#closing !== undefined) throw new BridgeError("SESSION_CLOSED", "the server is shutting down");
    this.#makeRoom(caller);
    const handle = `s_${randomBytes(HANDLE_BYTES).toString("base64url")}`;
    const session = this.#options.open(caller, {
      listSessions: () => this.list(caller, handle),
      endSession: (other) => this.end(caller, other),
    });
    const now = this.#now();
    const entry: Entry = {
      handle,
      session,
      caller,
      isOwned,
      openedAt: now,
      usedAt: now,
      active: 0,
      runs: 0,
      isKept: false,
      isEnding: false,
    };
    this.#entries.set(handle, entry);
    return entry;
  }

  /** Throws `SESSION_UNKNOWN`, in the same words for what never was, has ended, or is another caller's. */
  find(caller: Caller, handle: string): HandledSession {
    const entry = this.#find(caller, handle, NOTHING_RUN);
    entry.isKept = true;
    return entry;
  }

  /** Does `work` as a run of the session, which counts as used until that is over. */
  async use<T>(handle: string, work: (session: Session) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(handle);
    if (entry === undefined) throw unknown(handle, NOTHING_RUN);
    entry.active += 1;
    entry.runs += 1;
    entry.usedAt = this.#now();
    try {
      return await work(entry.session);
    } finally {
      entry.active -= 1;
      entry.usedAt = this.#now();
      if (entry.isEnding && entry.active === 0) this.#drop(entry, "ended");
    }
  }

  /** The caller's sessions, the newest use first; `current` is the handle of who asks. */
  list(caller: Caller, current?: string): readonly SessionEntry[] {
    const now = this.#now();
    return this.#of(caller, current)
      .sort((one, other) => other.active - one.active || other.usedAt - one.usedAt)
      .map((entry) => ({
        session: entry.handle,
        current: entry.handle === current,
        state: entry.active > 0 ? "running" : entry.session.hasSandbox ? "idle" : "stopped",
        age: seconds(now - entry.openedAt),
        idle: entry.active > 0 ? 0 : seconds(now - entry.usedAt),
        runs: entry.runs,
      }));
  }

  /** Ends a session at once, or when what it runs now is over: then it returns false. Rejects with `SESSION_UNKNOWN`. */
  async end(caller: Caller, handle: string): Promise<boolean> {
    const entry = this.#find(caller, handle, "nothing was ended");
    entry.isEnding = true;
    if (entry.active > 0) return false;
    await this.#drop(entry, "ended");
    return true;
  }

  /** Whether runs may still go to the session. */
  isOpen(handle: string): boolean {
    return this.#entries.get(handle)?.isEnding === false;
  }

  /** The session that events name by this id, whosever it is. */
  byId(sessionId: string): HandledSession | undefined {
    return [...this.#entries.values()].find(({ session }) => session.ref.sessionId === sessionId);
  }

  /** Ends a session although it may be running. One that is unknown is no fault. */
  async drop(handle: string, reason: string): Promise<void> {
    const entry = this.#entries.get(handle);
    if (entry !== undefined) await this.#drop(entry, reason);
  }

  /** Ends the sessions whose time is over. */
  sweep(): void {
    const oldest = this.#now() - this.#options.limits.ttlMs;
    for (const entry of [...this.#entries.values()]) {
      if (!entry.isOwned && entry.active === 0 && entry.usedAt <= oldest) void this.#drop(entry, "expired");
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #stop(): Promise<void> {
    clearInterval(this.#sweeper);
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    // Side by side: each may have to wait for the engine.
    await Promise.all([...entries.map(({ session }) => session.close("shutdown")), ...this.#ending]);
  }

  #find(caller: Caller, handle: string, undone: string): Entry {
    this.sweep();
    const entry = HANDLE.test(handle) ? this.#entries.get(handle) : undefined;
    if (entry === undefined || entry.caller.id !== caller.id || entry.isEnding) {
      throw unknown(handle, undone);
    }
    return entry;
  }

  /** Those of a caller that runs may go to, and the one of `current` although it may be about to end. */
  #of(caller: Caller, current?: string): Entry[] {
    return [...this.#entries.values()].filter(
      (entry) => entry.caller.id === caller.id && (!entry.isEnding || entry.handle === current),
    );
  }

  #makeRoom(caller: Caller): void {
    const { total, perCaller } = this.#options.limits;
    this.sweep();
    const all = [...this.#entries.values()];
    // One that is about to end has its sandbox until then.
    const own = all.filter((entry) => entry.caller.id === caller.id);
    if (own.length >= perCaller && !this.#dropForgotten(own)) {
      throw new BridgeError("LIMIT_EXCEEDED", `you have ${own.length} sessions, and may have ${perCaller}`, {
        hint: `End one that you do not need with runtime.end_session("s_…"): ${describeIdlest(own, this.#now())}. Whoever runs the server can raise MCP_BRIDGE_MAX_SESSIONS_PER_CALLER.`,
      });
    }
    // Of somebody else's only one that has nothing to lose any more.
    const spare = all.filter((entry) => own.includes(entry) || !entry.session.hasSandbox);
    if (this.#entries.size >= total && !this.#dropForgotten(spare)) {
      throw new BridgeError(
        "LIMIT_EXCEEDED",
        `the server has ${this.#entries.size} sessions, and may have ${total}`,
        {
          hint: "Try again later, or use a session that you have. Whoever runs the server can raise MCP_BRIDGE_MAX_SESSIONS.",
        },
      );
    }
  }

  /** Clients that never come back with a handle get a session for each run: the oldest of those goes. */
  #dropForgotten(entries: readonly Entry[]): boolean {
    const [oldest] = entries
      .filter(({ isOwned, isKept, active }) => !isOwned && !isKept && active === 0)
      .sort((one, other) => one.usedAt - other.usedAt);
    if (oldest === undefined) return false;
    void this.#drop(oldest, "forgotten");
    return true;
  }

  #drop(entry: Entry, reason: string): Promise<void> {
    this.#entries.delete(entry.handle);
    const ending = entry.session
      .close(reason)
      .catch((error: unknown) =>
        this.#options.log.error("could not stop a sandbox", { error: String(error) }),
      )
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }
}

function unknown(handle: string, undone: string): BridgeError {
  const shown = JSON.stringify(handle.length > 48 ? `${handle.slice(0, 48)}…` : handle);
  return new BridgeError("SESSION_UNKNOWN", `there is no session ${shown}; ${undone}`, {
    hint: 'Handles are given by run_python, begin with "s_" and end with their session; runtime.list_sessions() shows yours. Leave "session" out, or pass "new" for a fresh Python.',
  });
}

function describeIdlest(entries: readonly Entry[], now: number): string {
  const named = [...entries].sort((one, other) => one.active - other.active || one.usedAt - other.usedAt);
  return named
    .slice(0, NAMED_IN_ERRORS)
    .map(
      ({ handle, active, usedAt }) =>
        `${handle} (${active > 0 ? "running" : `idle for ${seconds(now - usedAt)} s`})`,
    )
    .join(", ");
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
