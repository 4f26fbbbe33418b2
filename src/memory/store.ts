import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isTemporary, removeFile, replaceFile, sweepTemporaries } from "../core/atomic-file.ts";
import type { MemoryInfo, UnreadableMemory } from "../kernel/host-memory.ts";
import { fromSystem, shown, unavailable } from "./faults.ts";
import { memoryFileNames } from "./file-names.ts";
import { MAX_RECORD_BYTES } from "./limits.ts";
import { readPlainFile } from "./read-file.ts";
import { type MemoryRecord, parseRecord, RecordFault, renderRecord } from "./record.ts";
import type { CallerRoot } from "./root.ts";
import type { Usage } from "./usage.ts";

const ENDING = ".json";
const AT_ONCE = 16;

/** A memory as it lies on disk. */
export interface StoredMemory {
  /** Of its file, in the folder of memories. */
  readonly name: string;
  readonly bytes: number;
  readonly record: MemoryRecord;
}

/** The same without its value: all values together may be much. */
interface ListedMemory extends Omit<StoredMemory, "record"> {
  readonly record: Omit<MemoryRecord, "value" | "others">;
}

interface Damaged {
  readonly name: string;
  readonly reason: string;
}

/** The memories of one caller, one file each. Who changes one must hold its lock. */
export class MemoryStore {
  readonly #root: CallerRoot;
  readonly #usage: Usage;
  /** The keys of files whose names do not say them, such as those of the original system. */
  readonly #keys = new Map<string, string | undefined>();
  #isSwept = false;

  constructor(root: CallerRoot, usage: Usage) {
    this.#root = root;
    this.#usage = usage;
  }

  /** All of them, each key once, sorted; and what lies among them and is none. */
  async list(
    signal: AbortSignal,
  ): Promise<{ readonly memories: readonly MemoryInfo[]; readonly unreadable: readonly UnreadableMemory[] }> {
    if (!(await this.#root.check())) return { memories: [], unreadable: [] };
    const found = new Map<string, ListedMemory>();
    const unreadable: UnreadableMemory[] = [];
    await this.#readAll(await this.#names(), (file) => {
      signal.throwIfAborted();
      if ("reason" in file) unreadable.push({ file: file.name, reason: file.reason });
      else if (isPreferred(file, found.get(file.record.key))) {
        const { value: _, others: __, ...record } = file.record;
        found.set(record.key, { ...file, record });
      }
    });
    const memories = [...found.values()].map(describe);
    memories.sort((one, other) => (one.key < other.key ? -1 : 1));
    return { memories, unreadable };
  }

  /** `undefined`: there is none. Rejects with `MEMORY_UNAVAILABLE` where its file is damaged. */
  async find(key: string): Promise<StoredMemory | undefined> {
    if (!(await this.#root.check())) return undefined;
    const names = memoryFileNames(key);
    let damaged: Damaged | undefined;
    for (const name of names) {
      const file = await this.#read(name);
      if (file === undefined) continue;
      if ("reason" in file) damaged ??= file;
      else if (file.record.key === key) return file;
    }
    for (const name of await this.#namesElsewhere(key)) {
      const file = names.includes(name) ? undefined : await this.#read(name);
      if (file !== undefined && "record" in file && file.record.key === key) return file;
    }
    if (damaged === undefined) return undefined;
    throw unavailable(
      `the memory ${shown(key)} cannot be used: its file ${JSON.stringify(join(this.#root.memories, damaged.name))} ${damaged.reason}`,
      "Nothing was changed. Repair that file or move it away, or use another key.",
    );
  }

  /** Creates or replaces; `metadata` of `null` keeps what there is. */
  async put(key: string, value: string, metadata: string | null): Promise<MemoryInfo> {
    return this.#write(key, (before) => {
      const now = Date.now() / 1000;
      const createdAt = before?.createdAt ?? now;
      return {
        key,
        value,
        metadata: metadata ?? before?.metadata ?? null,
        createdAt,
        updatedAt: Math.max(now, createdAt), // the clock may have been set back
        others: before?.others ?? [],
      };
    });
  }

  /** Creates or replaces with all that a record says, its times included. */
  async restore(record: MemoryRecord): Promise<void> {
    await this.#write(record.key, () => record);
  }

  async #write(key: string, change: (before: MemoryRecord | undefined) => MemoryRecord): Promise<MemoryInfo> {
    const owner = await this.#root.prepare();
    await this.#sweep();
    const before = await this.find(key);
    const record = change(before?.record);
    const text = renderRecord(record);
    const bytes = Buffer.byteLength(text);
    const doing = `saving the memory ${shown(key)}`;
    await this.#usage.grow(doing, { before: before?.bytes, after: bytes }, async () => {
      try {
        const write = (name: string) =>
          replaceFile(join(this.#root.memories, name), text, { owner, isNew: before === undefined });
        if (before === undefined) await firstFree(await this.#freeNames(key), write);
        else await write(before.name);
      } catch (error) {
        throw fromSystem(error, doing, this.#root.memories);
      }
      this.#usage.changed(before?.bytes, bytes);
    });
    return describe({ bytes, record });
  }

  /** Whether there was one. */
  async remove(key: string): Promise<boolean> {
    let isRemoved = false;
    // A copy that another program left would come back in its place.
    for (let file = await this.find(key); file !== undefined; file = await this.find(key)) {
      try {
        await removeFile(join(this.#root.memories, file.name));
      } catch (error) {
        throw fromSystem(error, `deleting the memory ${shown(key)}`, join(this.#root.memories, file.name));
      }
      this.#usage.changed(file.bytes, undefined);
      isRemoved = true;
    }
    return isRemoved;
  }

  async #read(name: string): Promise<StoredMemory | Damaged | undefined> {
    const file = await readPlainFile(join(this.#root.memories, name), MAX_RECORD_BYTES);
    if (file === undefined) return undefined;
    if ("reason" in file) return { name, reason: file.reason };
    try {
      return { name, bytes: file.bytes, record: parseRecord(file.text, file.modifiedAt) };
    } catch (error) {
      if (error instanceof RecordFault) return { name, reason: error.message };
      throw error;
    }
  }

  /** Files that hold a key although their names are not made from it. Each new file is looked into once. */
  async #namesElsewhere(key: string): Promise<readonly string[]> {
    const names = await this.#names();
    const present = new Set(names);
    for (const name of this.#keys.keys()) if (!present.has(name)) this.#keys.delete(name);
    await this.#readAll(
      names.filter((name) => !this.#keys.has(name)),
      () => undefined,
    );
    return names.filter((name) => this.#keys.get(name) === key);
  }

  /** Several at a time, and remembers whose each is. */
  async #readAll(names: readonly string[], onFile: (file: StoredMemory | Damaged) => void): Promise<void> {
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const files = await Promise.all(
        names.slice(at, at + AT_ONCE).map(async (name) => ({ name, file: await this.#read(name) })),
      );
      for (const { name, file } of files) {
        this.#keys.set(name, file !== undefined && "record" in file ? file.record.key : undefined);
        if (file !== undefined) onFile(file);
      }
    }
  }

  async #names(): Promise<readonly string[]> {
    try {
      const names = await readdir(this.#root.memories);
      return names.filter((name) => name.endsWith(ENDING) && !isTemporary(name)).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw fromSystem(error, "listing the memories", this.#root.memories);
    }
  }

  /** Names for a new memory: none that a file system which knows no case takes for another's, should it ever move to one. */
  async #freeNames(key: string): Promise<readonly string[]> {
    const taken = new Set((await this.#names()).map((name) => name.toLowerCase()));
    const names = memoryFileNames(key);
    return names.filter((name) => name === names.at(-1) || !taken.has(name.toLowerCase()));
  }

  async #sweep(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    await sweepTemporaries(this.#root.memories);
    await this.#root.sweepLocks();
  }
}

/** Writes under the first name that nothing else has. */
async function firstFree(names: readonly string[], write: (name: string) => Promise<unknown>): Promise<void> {
  for (const name of names) {
    try {
      await write(name);
      return;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EEXIST";
      if (!isTaken || name === names.at(-1)) throw error;
    }
  }
}

/** Where two files hold one key, the one that {@link MemoryStore.find} finds counts. */
function isPreferred(file: StoredMemory, other: Pick<StoredMemory, "name"> | undefined): boolean {
  if (other === undefined) return true;
  const names = memoryFileNames(file.record.key);
  const rank = ({ name }: Pick<StoredMemory, "name">) =>
    names.includes(name) ? names.indexOf(name) : names.length;
  return rank(file) < rank(other);
}

/** What is told of a memory beside its value. */
export function describe({ bytes, record }: Pick<ListedMemory, "bytes" | "record">): MemoryInfo {
  return {
    key: record.key,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    bytes,
    metadata: record.metadata,
  };
}
