import { costOfJson } from "../core/json-cost.ts";
import { type Member, readMembers } from "./json-members.ts";
import { MAX_RECORD_COST } from "./limits.ts";

/** The fields of a memory's file, in the order in which they are written; the format is that of the original system. */
const OWN: ReadonlySet<string> = new Set(["key", "value", "metadata", "created_at", "updated_at"]);

/** What a memory's file holds. Values are JSON text as they were given, times seconds since the epoch. */
export interface MemoryRecord {
  readonly key: string;
  readonly value: string;
  /** `null`: there is none. */
  readonly metadata: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Members that this version does not know: they are written back as they were. */
  readonly others: readonly Member[];
}

/** Why a file is not a memory; `message` completes "it …". */
export class RecordFault extends Error {}

/**
 * Reads a memory's file. Times that are missing or no numbers are `modifiedAt`. Throws {@link RecordFault}.
 */
export function parseRecord(text: string, modifiedAt: number): MemoryRecord {
  if (costOfJson(text) > MAX_RECORD_COST) throw new RecordFault("has more parts than one memory may have");
  let members: readonly Member[];
  try {
    members = readMembers(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new RecordFault("is not a JSON object"); // the parser's words would quote the value
  }
  const fields = new Map(members);
  const key = fields.get("key");
  const value = fields.get("value");
  if (key === undefined || !key.startsWith('"')) throw new RecordFault('has no "key" that is text');
  if (value === undefined) throw new RecordFault('has no "value"');
  const metadata = fields.get("metadata") ?? "null";
  const createdAt = readTime(fields.get("created_at")) ?? readTime(fields.get("updated_at")) ?? modifiedAt;
  return {
    key: JSON.parse(key) as string,
    value,
    metadata: metadata === "null" ? null : metadata,
    createdAt,
    updatedAt: readTime(fields.get("updated_at")) ?? createdAt,
    others: [...fields].filter(([name]) => !OWN.has(name)),
  };
}

/** Makes the text of a memory's file. */
export function renderRecord(record: MemoryRecord): string {
  const members: readonly Member[] = [
    ["key", JSON.stringify(record.key)],
    ["value", record.value],
    ["metadata", record.metadata ?? "null"],
    ["created_at", renderTime(record.createdAt)],
    ["updated_at", renderTime(record.updatedAt)],
    ...record.others,
  ];
  return `{\n${members.map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`).join(",\n")}\n}\n`;
}

function readTime(text: string | undefined): number | undefined {
  const time = text !== undefined && /^-?\d/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(time) ? time : undefined;
}

/** Always with a point, so that Python reads a float. */
function renderTime(seconds: number): string {
  const text = String(seconds);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
