import { BridgeError } from "../core/errors.ts";
import { fromSystem, shown, unavailable } from "./faults.ts";
import type { Held, Locks } from "./locks.ts";
import type { ProjectFiles } from "./projects/project-files.ts";
import type { CallerRoot } from "./root.ts";
import type { MemoryStore } from "./store.ts";
import type { ToolsFile } from "./tools-file.ts";

/** What is kept of one caller; all their sessions share it. */
export interface Kept {
  readonly root: CallerRoot;
  readonly locks: Locks;
  readonly memories: MemoryStore;
  readonly tools: ToolsFile;
  readonly projects: ProjectFiles;
}

/** What a lock is on: the memory of a key, or `null` for the saved tools. */
export type Subject = { readonly key: string } | null;

/**
 * Waits until nobody else changes something: in this bridge, and in others with the same directory. Rejects with
 * `MEMORY_UNAVAILABLE` where one holds it for too long or it cannot be locked, or as `signal` says.
 */
export async function lockSubject(
  kept: Pick<Kept, "root" | "locks">,
  subject: Subject,
  signal: AbortSignal,
): Promise<Held> {
  const { root, locks } = kept;
  await root.prepare();
  const path = root.lockFile(subject === null ? "saved tools" : `memory ${subject.key}`);
  try {
    return await locks.acquire(path, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const what = subject === null ? "the saved tools are" : `the memory ${shown(subject.key)} is`;
    if (error instanceof BridgeError && error.code === "LIMIT_EXCEEDED") {
      throw unavailable(
        `${what} being updated by somebody else, for more than ${locks.waitMs / 1000} s now`,
        "Try again later. A function given to update_memory must not save, delete or update that same key, nor be slow.",
        error,
      );
    }
    throw fromSystem(error, "locking what is to be changed", path);
  }
}

/** Does some work while nobody else changes something; see {@link lockSubject}. */
export async function withSubject<T>(
  kept: Pick<Kept, "root" | "locks">,
  subject: Subject,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await lockSubject(kept, subject, signal);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}
