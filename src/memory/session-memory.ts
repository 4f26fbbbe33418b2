import { randomUUID } from "node:crypto";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type {
  FilePiece,
  HostMemory,
  Lease,
  Memory,
  MemoryInfo,
  MemoryList,
  ProjectChanges,
  ProjectFile,
} from "../kernel/host-memory.ts";
import { checkKey, checkMetadata, checkValue } from "./checks.ts";
import { fromSystem, refuse, shown, unavailable } from "./faults.ts";
import { MAX_WAITING_HOLDS } from "./limits.ts";
import type { Held, Locks } from "./locks.ts";
import type { ProjectFiles } from "./projects/project-files.ts";
import type { CallerRoot } from "./root.ts";
import { describe, type MemoryStore, type StoredMemory } from "./store.ts";
import type { ToolsFile } from "./tools-file.ts";

/** What is kept of one caller; all their sessions share it. */
export interface Kept {
  readonly root: CallerRoot;
  readonly locks: Locks;
  readonly memories: MemoryStore;
  readonly tools: ToolsFile;
  readonly projects: ProjectFiles;
}

export interface SessionMemoryOptions {
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly log: Log;
}

/** What a lease is on: the memory of a key, or `null` for the saved tools. */
type Subject = { readonly key: string } | null;

interface Hold {
  readonly subject: Subject;
  readonly lock: Held;
  /** By the wall clock too: timers stand still while the machine sleeps. */
  readonly endsAt: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** What one session may do with what is kept. */
export class SessionMemory implements HostMemory {
  readonly #kept: Kept;
  readonly #options: SessionMemoryOptions;
  readonly #holds = new Map<string, Hold>();
  #waiting = 0;

  constructor(kept: Kept, options: SessionMemoryOptions) {
    this.#kept = kept;
    this.#options = options;
  }

  async listMemories(signal: AbortSignal): Promise<MemoryList> {
    return this.#kept.memories.list(signal);
  }

  async loadMemory(key: string, _signal: AbortSignal): Promise<Memory | null> {
    checkKey(key);
    return render(await this.#kept.memories.find(key));
  }

  async saveMemory(
    entry: { readonly key: string; readonly value: string; readonly metadata: string | null },
    signal: AbortSignal,
  ): Promise<MemoryInfo> {
    const { key, value, metadata } = entry;
    checkKey(key);
    checkValue(key, value);
    if (metadata !== null) checkMetadata(key, metadata);
    return this.#locked({ key }, signal, () => this.#kept.memories.put(key, value, metadata));
  }

  async deleteMemory(key: string, signal: AbortSignal): Promise<boolean> {
    checkKey(key);
    if ((await this.#kept.memories.find(key)) === undefined) return false;
    return this.#locked({ key }, signal, () => this.#kept.memories.remove(key));
  }

  async holdMemory(key: string, signal: AbortSignal): Promise<Lease & { readonly memory: Memory | null }> {
    checkKey(key);
    const { lease, found } = await this.#hold({ key }, signal, () => this.#kept.memories.find(key));
    return { lease, memory: render(found) };
  }

  async commitMemory(change: Lease & { readonly value: string }, _signal: AbortSignal): Promise<MemoryInfo> {
    return this.#commit(change.lease, async (subject) => {
      if (subject === null) throw refuse("what is held is the saved tools, not a memory");
      checkValue(subject.key, change.value);
      return this.#kept.memories.put(subject.key, change.value, null);
    });
  }

  async holdTools(signal: AbortSignal): Promise<Lease & { readonly source: string }> {
    const { lease, found } = await this.#hold(null, signal, () => this.#kept.tools.read());
    return { lease, source: found };
  }

  async commitTools(change: Lease & { readonly source: string }, _signal: AbortSignal): Promise<void> {
    await this.#commit(change.lease, async (subject) => {
      if (subject !== null) throw refuse("what is held is a memory, not the saved tools");
      await this.#kept.tools.write(change.source);
    });
  }

  async release({ lease }: Lease): Promise<void> {
    await this.#take(lease)?.lock.release();
  }

  async releaseAll(): Promise<void> {
    await Promise.all([...this.#holds.keys()].map((lease) => this.release({ lease })));
  }

  projectState(): Promise<string> {
    return this.#kept.projects.state();
  }

  projectChanges(since: string, signal: AbortSignal): Promise<ProjectChanges> {
    return this.#kept.projects.changes(since, signal);
  }

  readProjectFile(
    file: { readonly path: string; readonly offset: number },
    _signal: AbortSignal,
  ): Promise<FilePiece> {
    return this.#kept.projects.read(file);
  }

  writeProjectFile(
    piece: FilePiece & { readonly total: number },
    _signal: AbortSignal,
  ): Promise<ProjectFile | null> {
    return this.#kept.projects.write(piece);
  }

  removeProjectFile(path: string, _signal: AbortSignal): Promise<void> {
    return this.#kept.projects.remove(path);
  }

  async #hold<T>(
    subject: Subject,
    signal: AbortSignal,
    read: () => Promise<T>,
  ): Promise<Lease & { readonly found: T }> {
    if (this.#waiting >= MAX_WAITING_HOLDS) {
      throw new BridgeError("LIMIT_EXCEEDED", `${MAX_WAITING_HOLDS} updates of this session wait already`, {
        hint: "Wait for some of them before you begin more.",
      });
    }
    this.#waiting += 1;
    try {
      const lock = await this.#lock(subject, signal);
      try {
        const found = await read();
        signal.throwIfAborted();
        return { lease: this.#grant(subject, lock), found };
      } catch (error) {
        await lock.release();
        throw error;
      }
    } finally {
      this.#waiting -= 1;
    }
  }

  #grant(subject: Subject, lock: Held): string {
    const { leaseMs } = this.#options;
    const lease = randomUUID();
    const timer = setTimeout(() => void this.release({ lease }), leaseMs);
    timer.unref();
    this.#holds.set(lease, { subject, lock, timer, endsAt: Date.now() + leaseMs });
    return lease;
  }

  #take(lease: string): Hold | undefined {
    const hold = this.#holds.get(lease);
    this.#holds.delete(lease);
    clearTimeout(hold?.timer);
    return hold;
  }

  async #commit<T>(lease: string, write: (subject: Subject) => Promise<T>): Promise<T> {
    const hold = this.#take(lease);
    if (hold === undefined) throw this.#lapsed();
    try {
      if (Date.now() > hold.endsAt || !(await hold.lock.isHeld())) throw this.#lapsed();
      return await write(hold.subject);
    } finally {
      await hold.lock.release();
    }
  }

  #lapsed(): BridgeError {
    return refuse(
      `nothing was changed: the update took longer than the ${this.#options.leaseMs / 1000} s for which something is held, or was stopped`,
      "Do the slow work before the update, and let the function only put the new value together.",
    );
  }

  async #locked<T>(subject: Subject, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const lock = await this.#lock(subject, signal);
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  async #lock(subject: Subject, signal: AbortSignal): Promise<Held> {
    const { root, locks } = this.#kept;
    await root.prepare();
    const path = root.lockFile(subject === null ? "saved tools" : `memory ${subject.key}`);
    try {
      return await locks.acquire(path, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const what = subject === null ? "the saved tools are" : `the memory ${shown(subject.key)} is`;
      if (error instanceof BridgeError && error.code === "LIMIT_EXCEEDED") {
        throw unavailable(
          `${what} being updated by somebody else, for more than ${this.#options.waitMs / 1000} s now`,
          "Try again later. A function given to update_memory must not save, delete or update that same key, nor be slow.",
          error,
        );
      }
      throw fromSystem(error, "locking what is to be changed", path);
    }
  }
}

function render(found: StoredMemory | undefined): Memory | null {
  return found === undefined ? null : { ...describe(found), value: found.record.value };
}
