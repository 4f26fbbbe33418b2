import { join } from "node:path";
import { removeFile } from "../../core/atomic-file.ts";
import { checkKey, checkMetadata, checkValue } from "../checks.ts";
import { fromSystem, refuse, shown } from "../faults.ts";
import { memoryFileNames } from "../file-names.ts";
import { type Kept, withSubject } from "../kept.ts";
import { MAX_RECORD_BYTES } from "../limits.ts";
import { readPlainFile } from "../read-file.ts";
import { type MemoryRecord, parseRecord, RecordFault } from "../record.ts";
import type { Usage } from "../usage.ts";

const FOLDER = "memory";
const TOOLS = "user_tools.py";

/** Memories and saved tools written or removed as files of `/projects`: as if their own functions had done it. */
export class EntryFiles {
  readonly #kept: Omit<Kept, "projects">;
  readonly #usage: Usage;

  constructor(kept: Omit<Kept, "projects">, usage: Usage) {
    this.#kept = kept;
    this.#usage = usage;
  }

  /** Whether a path is that of a memory, of something among them, or of the saved tools. */
  owns(parts: readonly string[]): boolean {
    return parts[0] === FOLDER || (parts.length === 1 && parts[0] === TOOLS);
  }

  /** `isNow` says, once nobody else can change it, whether it still may be written; resolves with whether it was. */
  async write(
    parts: readonly string[],
    content: Buffer,
    isNow: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const text = decode(parts, content);
    if (parts[0] !== FOLDER) {
      return withSubject(this.#kept, null, signal, async () => {
        if (!(await isNow())) return false;
        await this.#kept.tools.write(text);
        return true;
      });
    }
    const record = readRecord(parts, text);
    return withSubject(this.#kept, { key: record.key }, signal, async () => {
      if (!(await isNow())) return false;
      const before = await this.#kept.memories.find(record.key);
      if (before !== undefined && before.name !== parts[1]) {
        throw refuse(
          `${shown(parts.join("/"))} cannot be kept: that memory is in ${shown(`${FOLDER}/${before.name}`)}`,
        );
      }
      await this.#kept.memories.restore(record);
      return true;
    });
  }

  /** As {@link write}. */
  async remove(
    parts: readonly string[],
    isNow: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const place = join(this.#kept.root.projects, ...parts);
    const file = await readPlainFile(place, MAX_RECORD_BYTES);
    if (file === undefined) return true;
    const key = parts[0] === FOLDER && "text" in file ? keyOf(file.text) : undefined;
    const subject = parts[0] === FOLDER ? { key: key ?? parts.join("/") } : null;
    return withSubject(this.#kept, subject, signal, async () => {
      if (!(await isNow())) return false;
      try {
        await removeFile(place);
      } catch (error) {
        throw fromSystem(error, `removing the file ${shown(parts.join("/"))}`, place);
      }
      this.#usage.changed("bytes" in file ? file.bytes : 0, undefined);
      return true;
    });
  }
}

function decode(parts: readonly string[], content: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw refuse(`${shown(parts.join("/"))} cannot be kept: it is not text in UTF-8`);
  }
}

function readRecord(parts: readonly string[], text: string): MemoryRecord {
  const path = shown(parts.join("/"));
  const [, name = ""] = parts;
  if (parts.length !== 2 || !name.endsWith(".json")) {
    throw refuse(
      `${path} cannot be kept: "memory" holds memories alone`,
      "Write other files beside that folder.",
    );
  }
  let record: MemoryRecord;
  try {
    record = parseRecord(text, Date.now() / 1000);
  } catch (error) {
    if (!(error instanceof RecordFault)) throw error;
    throw refuse(
      `${path} cannot be kept: it is not a memory: it ${error.message}`,
      "Use save_memory(key, value).",
    );
  }
  checkKey(record.key);
  checkValue(record.key, record.value);
  if (record.metadata !== null) checkMetadata(record.key, record.metadata);
  if (!memoryFileNames(record.key).includes(name)) {
    throw refuse(
      `${path} cannot be kept: the memory ${shown(record.key)} belongs in ${shown(`${FOLDER}/${memoryFileNames(record.key)[0]}`)}`,
      "Use save_memory(key, value).",
    );
  }
  return record;
}

function keyOf(text: string): string | undefined {
  try {
    return parseRecord(text, 0).key;
  } catch {
    return undefined; // damaged: the file alone is removed
  }
}
