import { randomBytes } from "node:crypto";
import { lstat, open, readFile, readlink, rm, symlink } from "node:fs/promises";
import { uptime } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { BridgeError } from "./errors.ts";
import { fateOf, ownIdentity, type ProcessIdentity } from "./process-identity.ts";

/** At random between these, so that two that wait do not always look at the same time. */
const POLL_MS = { min: 2, max: 15 };
/** A holder that is alive is done long before: one that still has it hangs, or was stopped, or cannot be seen from here. */
const STALE_MS = 120_000;
/** A file is written at once: one without its holder's name for so long was left by one that was killed meanwhile. */
const HALF_WRITTEN_MS = 10_000;

/** Who it is, since when, and something random. What is half written is none. */
const HOLDER = /^(\d+):(\d*):(\d+):([0-9a-f]{8}):([0-9a-f]{8}):[0-9a-f]{12}$/;
/** What the name of a lock ends in while one that is left is removed. */
const TURN = ".left";

/** What file systems say that know no symbolic links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"]);

export interface FileLockOptions {
  /** Milliseconds until one that holds the lock all the time is waited for no longer. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a lock says of who has it. */
interface Holder extends ProcessIdentity {
  /** In seconds since the boot, which no setting of the clock changes. */
  readonly since: number;
}

/** A lock that is held. */
export interface FileLock {
  /** Whether it still is: who was stopped for minutes is taken for dead. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Takes a lock that no other process has which asks for the same: a link or file at `path`, in a folder that exists. One whose
 * holder has died is taken over. Rejects with `LIMIT_EXCEEDED` when one and the same holder keeps it for too long.
 */
export async function acquireFileLock(path: string, { waitMs, signal }: FileLockOptions): Promise<FileLock> {
  const mine = describeUs();
  let holder: string | undefined;
  let end = performance.now() + waitMs;
  while (!(await take(path, mine))) {
    signal?.throwIfAborted();
    const present = await read(path);
    if (present !== holder && present !== undefined) {
      holder = present;
      end = performance.now() + waitMs;
    }
    if (performance.now() > end) {
      throw new BridgeError("LIMIT_EXCEEDED", `${JSON.stringify(path)} was held for more than ${waitMs} ms`, {
        hint: "Another sandpy is at work there; if none is, remove the file.",
      });
    }
    await sleep(POLL_MS.min + Math.random() * (POLL_MS.max - POLL_MS.min));
  }
  const isHeld = async () => (await read(path)) === mine;
  return {
    isHeld,
    release: async () => {
      // Unless somebody took us for dead.
      if (await isHeld()) await rm(path, { force: true });
    },
  };
}

/** Runs `work` while no other process that asks for the same lock does; see {@link acquireFileLock}. */
export async function withFileLock<T>(
  path: string,
  options: FileLockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await acquireFileLock(path, options);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** Removes a lock whose holder has died; one that somebody has, or that is not there, stays as it is. Never rejects. */
export async function removeDeadLock(path: string): Promise<void> {
  await removeIfDead(path).catch(() => undefined); // a folder that is read-only: who wants the lock is told
}

async function removeIfDead(path: string): Promise<void> {
  const text = await read(path);
  if (text !== undefined && (await isStale(path, text))) await removeStale(path, text);
}

async function take(path: string, mine: string): Promise<boolean> {
  if (await make(path, mine)) return true;
  await removeIfDead(path);
  return false;
}

/**
 * A lock is a symbolic link to nowhere, whose target names the holder: the system makes both in one step, so that a
 * holder which is killed at any time leaves a lock that says whose it was. `false` where there is one.
 */
async function make(path: string, mine: string): Promise<boolean> {
  try {
    await symlink(mine, path);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (NO_LINKS.has(code)) return makeFile(path, mine);
    if (code !== "EEXIST") throw error;
    return false;
  }
}

/** Where the file system has no symbolic links, or the user may make none. */
async function makeFile(path: string, mine: string): Promise<boolean> {
  const handle = await open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (handle === undefined) return false;
  try {
    await handle.writeFile(mine);
    return true;
  } catch (error) {
    await rm(path, { force: true }); // the disk is full: a lock without a name on it would hold everybody up
    throw error;
  } finally {
    await handle.close();
  }
}

async function isStale(path: string, text: string): Promise<boolean> {
  const holder = parseHolder(text);
  const fate = holder === undefined ? "unknown" : fateOf(holder);
  if (holder !== undefined && fate !== "unknown") {
    const heldMs = (uptime() - holder.since) * 1000;
    return fate === "ended" || heldMs > STALE_MS || heldMs < -STALE_MS; // negative: of another boot
  }
  const age = Date.now() - ((await lstat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
  // The clock may have been set back.
  return Math.abs(age) > STALE_MS || (holder === undefined && age > HALF_WRITTEN_MS);
}

/**
 * Two that see the same dead holder must not remove each other's new lock: one at a time looks again, and removes. That
 * one may be killed as well, in the moment in between: what it leaves is of no use to anybody who is alive.
 */
async function removeStale(path: string, text: string): Promise<void> {
  const turn = `${path}${TURN}`;
  const mine = describeUs();
  if (!(await make(turn, mine))) {
    const other = await read(turn);
    if (other !== undefined && (await isStale(turn, other))) await rm(turn, { force: true });
    return; // somebody else is at it
  }
  try {
    if ((await read(path)) === text) await rm(path, { force: true });
  } finally {
    await rm(turn, { force: true });
  }
}

/** Short: a link to less than 60 bytes needs no room on a disk that is full, on which memories can so be deleted. */
function describeUs(): string {
  const { pid, where, boot, started } = ownIdentity();
  return [pid, started, Math.floor(uptime()), where, boot, randomBytes(6).toString("hex")].join(":");
}

function parseHolder(text: string): Holder | undefined {
  const [, pid, started = "", since, where = "", boot = ""] = HOLDER.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), started, since: Number(since), where, boot };
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return readFile(path, "utf8").catch(() => undefined); // a file, or gone
  }
}
