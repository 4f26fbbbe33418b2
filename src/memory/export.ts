import { checkKey, checkMetadata, checkValue } from "./checks.ts";
import { refuse } from "./faults.ts";
import { type JsonElement, readElements } from "./json-members.ts";
import { type MemoryRecord, parseRecord, RecordFault, renderRecord } from "./record.ts";

/** One JSON array of memories as they lie in their files. */
export function renderExport(records: readonly MemoryRecord[]): string {
  return `[${records.map((record) => `\n${renderRecord(record).trimEnd()}`).join(",")}\n]\n`;
}

/**
 * Reads what {@link renderExport} made, or one memory alone. `source` is how messages call it. Throws `MEMORY_REFUSED` that names
 * the line and the place of the first entry that is not right.
 */
export function parseExport(text: string, source: string): readonly MemoryRecord[] {
  const refuseAt = (offset: number, message: string) =>
    refuse(
      `${source}:${text.slice(0, offset).split("\n").length}: ${message}`,
      'Nothing was imported. Expected an array of {"key", "value", "metadata", "created_at", "updated_at"}, as "sandpy memory export" makes it.',
    );
  let elements: readonly JsonElement[];
  try {
    elements = text.trimStart().startsWith("{") ? [{ text, offset: 0 }] : readElements(text);
  } catch {
    throw refuseAt(0, "this is not a JSON array");
  }
  const now = Date.now() / 1000;
  const seen = new Map<string, number>();
  return elements.map((element, index) => {
    try {
      const record = parseRecord(element.text, now);
      checkKey(record.key);
      checkValue(record.key, record.value);
      if (record.metadata !== null) checkMetadata(record.key, record.metadata);
      const earlier = seen.get(record.key);
      if (earlier !== undefined) throw refuse(`has the same key as [${earlier}]`);
      seen.set(record.key, index);
      return record;
    } catch (error) {
      const isFault = error instanceof RecordFault;
      throw refuseAt(element.offset, `[${index}]${isFault ? " " : ": "}${(error as Error).message}`);
    }
  });
}
