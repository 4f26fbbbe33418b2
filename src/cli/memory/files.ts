import { defineCommand } from "citty";
import type { ProjectFile } from "../../kernel/host-memory.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { renderTable, type Screen, screenOf } from "../table.ts";
import { openDesk } from "./open.ts";
import { renderTime } from "./time.ts";

/** `sandpy memory files` */
export const filesCommand = defineCommand({
  meta: { name: "files", description: "List the files of /projects, with their sizes." },
  args: { json: { type: "boolean", description: "print JSON" } },
  run: ({ args, data }) => listFiles(args.json === true, data),
});

const COLUMNS = [
  { title: "FILE", minWidth: 16 },
  { title: "BYTES", minWidth: undefined },
  { title: "MODIFIED", minWidth: undefined },
] as const;

async function listFiles(json: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const { memory, signal } = await openDesk(context);
  const { files } = await memory.listProjectFiles(signal);
  if (json) {
    const shown = files.map(({ path, bytes, modified_at }) => ({ path, bytes, modified_at }));
    return printJson(io, { files: shown });
  }
  return print(io, renderFiles(files, screenOf(io)));
}

function renderFiles(files: readonly ProjectFile[], screen: Screen): string {
  if (files.length === 0) return "Nothing is kept yet. What Python writes to /projects is.\n";
  const rows = files.map(({ path, bytes, modified_at }) => [
    printable(path),
    String(bytes),
    renderTime(modified_at),
  ]);
  return `${renderTable(COLUMNS, rows, screen).join("\n")}\n`;
}
