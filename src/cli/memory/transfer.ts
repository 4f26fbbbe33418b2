import { realpath, stat, writeFile } from "node:fs/promises";
import { defineCommand } from "citty";
import { replaceFile } from "../../core/atomic-file.ts";
import { explainFileFault } from "../../core/file-faults.ts";
import { usage } from "../arguments.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { readText } from "../read-text.ts";
import { openDesk, reportUnreadable } from "./open.ts";

/** `sandpy memory export` */
export const exportCommand = defineCommand({
  meta: { name: "export", description: "Write all memories as one JSON array." },
  args: {
    file: { type: "positional", required: false, description: 'the file to write; stdout if absent or "-"' },
  },
  run: ({ args, data }) => exportTo(args.file ?? "-", data),
});

/** `sandpy memory import` */
export const importCommand = defineCommand({
  meta: { name: "import", description: "Take over exported memories; those of the same key are replaced." },
  args: {
    file: { type: "positional", required: true, description: 'the file to read, or "-" for stdin' },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => importFrom(args.file, args.json === true, data),
});

async function exportTo(file: string, context: CliContext): Promise<number> {
  const { io } = context;
  const desk = await openDesk(context);
  const { memories, unreadable } = await desk.memory.listMemories(desk.signal);
  const text = await desk.archive.exportAll(desk.signal);
  reportUnreadable(io, unreadable, desk);
  if (file === "-") return print(io, text);
  try {
    await writeTo(file, text);
  } catch (error) {
    throw usage(
      `${JSON.stringify(file)} cannot be written (${explainFileFault(error).what})`,
      'Give another file, or "-" for stdout.',
    );
  }
  return print(io, `Wrote ${count(memories.length)} to ${JSON.stringify(file)}.\n`);
}

/** Into a file in one step; into what is none, such as a device or a pipe, which must not be replaced by a file, as it is. */
async function writeTo(path: string, text: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined); // missing, or writing says why
  if (facts === undefined) await replaceFile(path, text);
  else if (facts.isFile()) await replaceFile(await realpath(path), text);
  else await writeFile(path, text);
}

async function importFrom(file: string, json: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const text = await readText(file, io.stdin);
  const desk = await openDesk(context);
  const { created, replaced } = await desk.archive.importAll(
    text,
    file === "-" ? "stdin" : file,
    desk.signal,
  );
  if (json) return printJson(io, { created, replaced });
  return print(io, `Imported ${count(created + replaced)}: ${created} new, ${replaced} replaced.\n`);
}

function count(memories: number): string {
  return memories === 1 ? "1 memory" : `${memories} memories`;
}
