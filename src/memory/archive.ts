import { parseExport, renderExport } from "./export.ts";
import { type Kept, withSubject } from "./kept.ts";
import type { MemoryRecord } from "./record.ts";

/** How many memories an import made and how many it replaced. */
export interface Imported {
  readonly created: number;
  readonly replaced: number;
}

/** All memories of one caller at once, for whoever keeps them. */
export class Archive {
  /** The folder of memories, and the file of saved tools; they need not exist. */
  readonly memoriesFolder: string;
  readonly toolsFile: string;
  readonly #kept: Kept;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.memoriesFolder = kept.root.memories;
    this.toolsFile = kept.root.toolsFile;
  }

  /** The text of the file of saved tools, "" where there is none. */
  readTools(): Promise<string> {
    return this.#kept.tools.read();
  }

  /** One JSON array of all memories that can be read. */
  async exportAll(signal: AbortSignal): Promise<string> {
    const { memories } = await this.#kept.memories.list(signal);
    const records: MemoryRecord[] = [];
    for (const { key } of memories) {
      const found = await this.#kept.memories.find(key);
      if (found !== undefined) records.push(found.record); // it may have been deleted meanwhile
    }
    return renderExport(records);
  }

  /**
   * Takes over what {@link exportAll} gave; what has the same key is replaced, all else stays. `source` is how messages
   * call the text. Rejects with a `MEMORY_*` error, and then nothing has changed.
   */
  async importAll(text: string, source: string, signal: AbortSignal): Promise<Imported> {
    const { memories } = this.#kept;
    const records = parseExport(text, source);
    const done: { readonly key: string; readonly before: MemoryRecord | undefined }[] = [];
    try {
      for (const record of records) {
        const { key } = record;
        await withSubject(this.#kept, { key }, signal, async () => {
          const before = (await memories.find(key))?.record;
          await memories.restore(record);
          done.push({ key, before });
        });
      }
    } catch (error) {
      for (const { key, before } of done.reverse()) {
        await (before === undefined ? memories.remove(key) : memories.restore(before));
      }
      throw error;
    }
    const replaced = done.filter(({ before }) => before !== undefined).length;
    return { created: done.length - replaced, replaced };
  }
}
