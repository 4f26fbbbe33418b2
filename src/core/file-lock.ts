import { randomUUID } from "node:crypto";
import { lstat, open, readFile, readlink, rename, rm, symlink } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { BridgeError } from "./errors.ts";
import { isAlive } from "./process-alive.ts";

/** At random between these, so that two that wait do not always look at the same time. */
const POLL_MS = { min: 2, max: 15 };
/** A holder that is alive is done long before; a file this old was left by one that we cannot see. */
const STALE_MS = 120_000;
/** A file is written at once: one without its holder's name for so long was left by one that was killed meanwhile. */
const HALF_WRITTEN_MS = 10_000;

/** What file systems say that know no symbolic links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"]);

export interface FileLockOptions {
  /** Milliseconds until one that holds the lock all the time is waited for no longer. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
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
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
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
  const text = await read(path);
  if (text !== undefined && (await isStale(path, text))) await removeStale(path, text);
}

/**
 * A lock is a symbolic link to nowhere, whose target names the holder: the system makes both in one step, so that a
 * holder which is killed at any time leaves a lock that says whose it was.
 */
async function take(path: string, mine: string): Promise<boolean> {
  try {
    await symlink(mine, path);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (NO_LINKS.has(code)) return takeByFile(path, mine);
    if (code !== "EEXIST") throw error;
  }
  await removeDeadLock(path);
  return false;
}

/** Where the file system has no symbolic links, or the user may make none. */
async function takeByFile(path: string, mine: string): Promise<boolean> {
  const handle = await open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (handle === undefined) {
    await removeDeadLock(path);
    return false;
  }
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
  const age = Date.now() - ((await lstat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
  // The clock may have been set back.
  if (Math.abs(age) > STALE_MS) return true;
  const holder = parseHolder(text);
  if (holder === undefined && age > HALF_WRITTEN_MS) return true;
  // Process ids say nothing about another machine or container.
  return holder !== undefined && holder.host === hostname() && !isAlive(holder.pid);
}

/** Two that see the same dead holder must not remove each other's new lock. */
async function removeStale(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return; // somebody else was first
  }
  if ((await read(aside)) !== text) await rename(aside, path).catch(() => undefined);
  else await rm(aside, { force: true });
}

function parseHolder(text: string): { readonly pid: number; readonly host: string } | undefined {
  try {
    const { pid, host } = JSON.parse(text) as { pid?: unknown; host?: unknown };
    return typeof pid === "number" && typeof host === "string" ? { pid, host } : undefined;
  } catch {
    return undefined; // half written: its age decides
  }
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return readFile(path, "utf8").catch(() => undefined); // a file, or gone
  }
}
