import { defineCommand } from "citty";
import { parseExactJson } from "../../core/exact-json.ts";
import type { MemoryInfo } from "../../kernel/host-memory.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { renderTable, type Screen, screenOf } from "../table.ts";
import { openDesk, reportUnreadable } from "./open.ts";
import { renderTime } from "./time.ts";

/** `sandpy memory list` */
export const listCommand = defineCommand({
  meta: { name: "list", description: "List the memories." },
  args: { json: { type: "boolean", description: "print JSON" } },
  run: ({ args, data }) => list(args.json === true, data),
});

async function list(json: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const desk = await openDesk(context);
  const { memories, unreadable } = await desk.memory.listMemories(desk.signal);
  if (json) return printJson(io, { memories: memories.map(describe), unreadable });
  const code = await print(io, renderList(memories, screenOf(io)));
  reportUnreadable(io, unreadable, desk);
  return code;
}

const COLUMNS = [
  { title: "KEY", minWidth: 16 },
  { title: "BYTES", minWidth: undefined },
  { title: "UPDATED", minWidth: undefined },
  { title: "CREATED", minWidth: undefined },
  { title: "METADATA", minWidth: 10 },
] as const;

function renderList(memories: readonly MemoryInfo[], screen: Screen): string {
  if (memories.length === 0) {
    return "Nothing is kept yet. Python keeps a value with save_memory(key, value).\n";
  }
  const rows = memories.map(({ key, bytes, updated_at, created_at, metadata }) => [
    printable(key),
    String(bytes),
    renderTime(updated_at),
    renderTime(created_at),
    metadata === null ? "-" : printable(metadata.replaceAll(/\s+/g, " ")),
  ]);
  return `${renderTable(COLUMNS, rows, screen).join("\n")}\n`;
}

function describe({ key, bytes, created_at, updated_at, metadata }: MemoryInfo) {
  const parsed = metadata === null ? null : parseExactJson(metadata);
  return { key, bytes, created_at, updated_at, metadata: parsed };
}
