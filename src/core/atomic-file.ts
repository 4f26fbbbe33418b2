import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { chown, link, lstat, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fateOf, ownIdentity } from "./process-identity.ts";

/**
 * How {@link replaceFile} names a file while it writes: nobody else gives such a name to a file. Who writes it is in the
 * name, since what is in the file may not be there yet when its writer is killed.
 */
const PREFIX = ".sandpy-writing-";
const TEMPORARY = new RegExp(`^\\${PREFIX}([0-9a-f]{8})([0-9a-f]{12})([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{8}$`);
/** Nobody writes a file of ours for so long. */
const LEFT_MS = 60_000;
/** What file systems say that know no hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);
/** What systems say that cannot flush a folder. */
const NO_FOLDER_SYNC: ReadonlySet<string> = new Set([
  "EPERM",
  "EACCES",
  "EISDIR",
  "EINVAL",
  "ENOTSUP",
  "EBADF",
]);

/** Who a file is to belong to. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface ReplaceOptions {
  /** Whom the file is given to, where the process may do that. */
  readonly owner?: Owner | undefined;
  /** Who may read and write it; absent: its owner alone. */
  readonly mode?: number;
  /** Fails with `EEXIST` where there is something at that path already, and leaves it alone. */
  readonly isNew?: boolean;
  /** Is called once the content is on the disk, with what puts it in its place; where that is not called, nothing is kept. */
  readonly put?: (move: () => Promise<void>) => Promise<void>;
}

/**
 * Writes a file in one step, which only its owner can read unless a mode is given: who reads sees the old content or the
 * new, also after a crash at any time. When it resolves the content is on the disk; it says how the file is. Rejects with
 * what the system says, the old content intact.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { owner, mode, isNew = false, put = (move) => move() }: ReplaceOptions = {},
): Promise<BigIntStats> {
  const temporary = join(dirname(path), newTemporary());
  let facts: BigIntStats;
  let isPut = false;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(content);
      if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
      if (mode !== undefined) await handle.chmod(mode);
      await handle.sync();
      facts = await handle.stat({ bigint: true });
    } finally {
      await handle.close();
    }
    await put(async () => {
      await (isNew ? moveToNew(temporary, path) : rename(temporary, path));
      isPut = true;
    });
    if (!isPut) await rm(temporary, { force: true });
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  return facts;
}

/** Removes a file for good: it does not come back after a crash. Resolves with whether there was one. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path); // `rm` says EFAULT of a file that is immutable
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

/** Whether a name in a folder is that of a file which is being written, or was when its writer was killed. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Removes what processes that were killed left half written in a folder. Never rejects. */
export async function sweepTemporaries(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []); // gone: writing says so
  for (const name of names) await sweepTemporary(folder, name);
}

/** Removes one that {@link isTemporary}, unless somebody may be writing it. Never rejects. */
export async function sweepTemporary(folder: string, name: string): Promise<void> {
  const [, writer = "", start = "", where = "", boot] = TEMPORARY.exec(name) ?? [];
  if (boot === undefined) return;
  const path = join(folder, name);
  const facts = await lstat(path).catch(() => undefined); // another process was faster
  if (facts?.isFile() !== true) return;
  const started = String(Number.parseInt(start, 16) || "");
  const fate = fateOf({ pid: Number.parseInt(writer, 16), where, boot, started });
  const isLeft = fate === "unknown" ? Math.abs(Date.now() - facts.mtimeMs) > LEFT_MS : fate === "ended";
  if (isLeft) await rm(path, { force: true }).catch(() => undefined);
}

function newTemporary(): string {
  const { pid, started, where, boot } = ownIdentity();
  const [writer, start] = [pid.toString(16).padStart(8, "0"), Number(started).toString(16).padStart(12, "0")];
  return `${PREFIX}${writer}${start}${where}${boot}${randomBytes(4).toString("hex")}`;
}

/** Gives a folder or file to its owner; only root can do that, and others have no need to. */
export async function giveTo(path: string, owner: Owner | undefined): Promise<void> {
  if (owner !== undefined) await chown(path, owner.uid, owner.gid);
}

/** Renames, but never over another file. */
async function moveToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    if ((await lstat(to).catch(() => undefined)) !== undefined)
      throw Object.assign(new Error(`there is a file at ${JSON.stringify(to)}`), { code: "EEXIST" });
    await rename(from, to);
    return;
  }
  await rm(from, { force: true });
}

/** The name of a file is in its folder, which has to reach the disk as well. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      const { dev, ino } = await handle.stat({ bigint: true });
      await syncTogether(`${dev}-${ino}`, () => handle.sync());
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!NO_FOLDER_SYNC.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

interface Sync {
  readonly running: Promise<void>;
  next: Promise<void> | undefined;
}

const syncs = new Map<string, Sync>();

/** Those who ask while one is under way share the next: it takes what all of them wrote. */
function syncTogether(key: string, sync: () => Promise<void>): Promise<void> {
  const known = syncs.get(key);
  if (known !== undefined) {
    known.next ??= known.running.catch(() => undefined).then(() => start(key, sync));
    return known.next;
  }
  return start(key, sync);
}

function start(key: string, sync: () => Promise<void>): Promise<void> {
  const running = sync();
  const entry: Sync = { running, next: undefined };
  syncs.set(key, entry);
  const forget = () => {
    if (entry.next === undefined && syncs.get(key) === entry) syncs.delete(key);
  };
  running.then(forget, forget);
  return running;
}
