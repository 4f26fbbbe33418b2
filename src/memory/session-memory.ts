import { randomUUID } from "node:crypto";
import { BridgeError } from "../core/errors.ts";
import { Slots } from "../core/slots.ts";
import type {
  HostMemory,
  Lease,
  Memory,
  MemoryInfo,
  MemoryList,
  NewPiece,
  ProjectFile,
  ProjectList,
  ReadPiece,
} from "../kernel/host-memory.ts";
import { checkKey, checkMetadata, checkValue } from "./checks.ts";
import { refuse } from "./faults.ts";
import { type Kept, lockSubject, type Subject, withSubject } from "./kept.ts";
import { MAX_HOLDS, MAX_WAITING_HOLDS } from "./limits.ts";
import type { Held } from "./locks.ts";
import { type OpenUploads, Upload } from "./projects/upload.ts";
import { describe, type StoredMemory } from "./store.ts";

interface Hold {
  readonly subject: Subject;
  readonly lock: Held;
  /** By `performance.now()`: a timer may come late. While the machine sleeps it stands still, and the lock's file tells. */
  readonly endsAt: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** What one session may do with what is kept. */
export class SessionMemory implements HostMemory {
  readonly #kept: Kept;
  readonly #leaseMs: number;
  readonly #holders: Set<SessionMemory>;
  readonly #holds = new Map<string, Hold>();
  readonly #upload: Upload;
  /** What is held is read one after the other: each can be as large as a frame. */
  readonly #reading = new Slots(1);
  #waiting = 0;

  /** `leaseMs` is how long something may be held; `holders` are those that hold something, `uploads` all that is sent. */
  constructor(kept: Kept, leaseMs: number, holders: Set<SessionMemory>, uploads: OpenUploads) {
    this.#upload = new Upload(uploads);
    this.#holders = holders;
    this.#kept = kept;
    this.#leaseMs = leaseMs;
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
    return withSubject(this.#kept, { key }, signal, () => this.#kept.memories.put(key, value, metadata));
  }

  async deleteMemory(key: string, signal: AbortSignal): Promise<boolean> {
    checkKey(key);
    if ((await this.#kept.memories.find(key)) === undefined) return false;
    return withSubject(this.#kept, { key }, signal, () => this.#kept.memories.remove(key));
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
    this.#upload.clear();
    await Promise.all([...this.#holds.keys()].map((lease) => this.release({ lease })));
  }

  projectState(): Promise<string> {
    return this.#kept.projects.state();
  }

  listProjectFiles(_signal: AbortSignal): Promise<ProjectList> {
    return this.#kept.projects.list();
  }

  readProjectFile(
    file: { readonly path: string; readonly offset: number },
    _signal: AbortSignal,
  ): Promise<ReadPiece> {
    return this.#kept.projects.read(file);
  }

  async writeProjectFile(piece: NewPiece, signal: AbortSignal): Promise<ProjectFile | "changed" | null> {
    const { projects } = this.#kept;
    const content = wholeOf(piece) ?? (await this.#gather(piece));
    return content === undefined ? null : projects.write(piece, content, signal);
  }

  removeProjectFile(
    file: { readonly path: string; readonly base: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#kept.projects.remove(file, signal);
  }

  async #gather(piece: NewPiece): Promise<Buffer | undefined> {
    if (piece.offset === 0) await this.#kept.projects.admit(piece.path, piece.total); // before there is a place in memory for it
    return this.#upload.take(piece);
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
    if (this.#holds.size + this.#waiting >= MAX_HOLDS) {
      throw new BridgeError("LIMIT_EXCEEDED", `this session holds ${MAX_HOLDS} memories already`, {
        hint: "End some of the updates before you begin more.",
      });
    }
    this.#waiting += 1;
    try {
      const lock = await lockSubject(this.#kept, subject, signal);
      const leave = await this.#reading.enter();
      try {
        const found = await read();
        signal.throwIfAborted();
        return { lease: this.#grant(subject, lock), found };
      } catch (error) {
        await lock.release();
        throw error;
      } finally {
        leave();
      }
    } finally {
      this.#waiting -= 1;
    }
  }

  #grant(subject: Subject, lock: Held): string {
    const lease = randomUUID();
    const timer = setTimeout(() => void this.release({ lease }), this.#leaseMs);
    timer.unref();
    this.#holders.add(this);
    this.#holds.set(lease, { subject, lock, timer, endsAt: performance.now() + this.#leaseMs });
    return lease;
  }

  #take(lease: string): Hold | undefined {
    const hold = this.#holds.get(lease);
    this.#holds.delete(lease);
    if (this.#holds.size === 0) this.#holders.delete(this);
    clearTimeout(hold?.timer);
    return hold;
  }

  async #commit<T>(lease: string, write: (subject: Subject) => Promise<T>): Promise<T> {
    const hold = this.#take(lease);
    if (hold === undefined) throw this.#lapsed();
    try {
      if (performance.now() > hold.endsAt || !(await hold.lock.isHeld())) throw this.#lapsed();
      return await write(hold.subject);
    } finally {
      await hold.lock.release();
    }
  }

  #lapsed(): BridgeError {
    return refuse(
      `nothing was changed: the update took longer than the ${this.#leaseMs / 1000} s for which something is held, or was stopped`,
      "Do the slow work before the update, and let the function only put the new value together.",
    );
  }
}

/** The content of a file that is small enough for one piece: many of them may be sent at once. */
function wholeOf({ offset, total, data }: NewPiece): Buffer | undefined {
  if (offset !== 0 || data.length < total) return undefined;
  const piece = Buffer.from(data, "base64");
  return piece.length === total ? piece : undefined;
}

function render(found: StoredMemory | undefined): Memory | null {
  return found === undefined ? null : { ...describe(found), value: found.record.value };
}
