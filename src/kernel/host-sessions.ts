/** One of the caller's sessions, as Python sees it; times in seconds. */
export interface SessionEntry {
  /** Names it in `run_python(session=…)`. */
  readonly session: string;
  /** Whether it is the one that asks. */
  readonly current: boolean;
  /** `running` or `idle`; `stopped`: idle, and its variables are gone with its sandbox. */
  readonly state: "running" | "idle" | "stopped";
  readonly age: number;
  /** Since its last run ended, or since it began. */
  readonly idle: number;
  readonly runs: number;
}

/** What Python may know of, and do with, the sessions of its caller. */
export interface HostSessions {
  /** The newest use first. */
  listSessions(): readonly SessionEntry[];
  /** Whether it has ended: one that runs code goes when that is over. Rejects with `SESSION_UNKNOWN`. */
  endSession(handle: string): Promise<boolean>;
}
