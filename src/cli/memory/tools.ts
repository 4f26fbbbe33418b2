import { type ArgsDef, defineCommand } from "citty";
import { confirm } from "../confirm.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { stoppable } from "../stoppable.ts";
import { renderTable, screenOf, terminalWidth } from "../table.ts";
import { openDesk } from "./open.ts";
import { askPython } from "./saved-tools.ts";

const EXIT_REFUSED = 1;
const NO_TOOLS = "No tool is saved yet. Python saves a function with save_tool(function).";
/** What a signal ends. */
const WHAT = "the work on saved tools";

/** `sandpy memory tools list` */
const listCommand = defineCommand({
  meta: { name: "list", description: "List the saved tools." },
  args: { json: { type: "boolean", description: "print JSON" } },
  run: ({ args, data }) => stoppable(data.io, WHAT, (signal) => list(args.json === true, data, signal)),
});

/** `sandpy memory tools show` */
const showCommand = defineCommand({
  meta: { name: "show", description: "Print the source of a saved tool, or the whole file." },
  args: { name: { type: "positional", required: false, description: "the tool; the whole file if absent" } },
  run: ({ args, data }) => stoppable(data.io, WHAT, (signal) => show(args.name, data, signal)),
});

/** `sandpy memory tools delete` */
const deleteCommand = defineCommand({
  meta: { name: "delete", description: "Delete a saved tool; asks first at a terminal." },
  args: {
    name: { type: "positional", required: true, description: "the tool" },
    yes: { type: "boolean", alias: "y", description: "do not ask" },
  },
  run: ({ args, data }) => remove(args.name, args.yes === true, data),
});

/** `sandpy memory tools path` */
const pathCommand = defineCommand({
  meta: { name: "path", description: "Print the file that the saved tools are in." },
  args: {},
  run: async ({ data }) => print(data.io, `${(await openDesk(data)).archive.toolsFile}\n`),
});

/** `sandpy memory tools` */
export const toolsCommand = defineCommand<ArgsDef>({
  meta: { name: "tools", description: "Show and delete the functions that Python saved with save_tool." },
  subCommands: { list: listCommand, show: showCommand, delete: deleteCommand, path: pathCommand },
});

/** What the sandbox says of a saved tool, as far as it is shown. */
interface SavedTool {
  readonly name: string;
  readonly signature: string;
  readonly description: string;
}

const COLUMNS = [
  { title: "NAME", minWidth: undefined },
  { title: "SIGNATURE", minWidth: 20 },
  { title: "DESCRIPTION", minWidth: 16 },
] as const;

async function list(json: boolean, context: CliContext, signal: AbortSignal): Promise<number> {
  const { io } = context;
  const desk = await openDesk(context);
  // Without a file there is nothing to ask Python about.
  const entries =
    (await desk.archive.readTools()) === "" ? [] : parseTools(await askPython(LIST, context, signal));
  if (json) return printJson(io, { tools: entries });
  if (entries.length === 0) {
    return print(io, `${NO_TOOLS}\n`);
  }
  const rows = entries.map(({ name, signature, description }) =>
    [name, signature, description].map((cell) => printable(cell.split("\n")[0] ?? "")),
  );
  return print(io, `${renderTable(COLUMNS, rows, screenOf(io)).join("\n")}\n`);
}

const FIELDS =
  '{"name": _entry["tool"], "signature": _entry.get("signature", ""), "description": _entry["description"]}';
const LIST = `[${FIELDS} for _entry in runtime.list_saved_tools()]`;

function parseTools(answer: unknown): readonly SavedTool[] {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return (Array.isArray(answer) ? (answer as readonly Readonly<Record<string, unknown>>[]) : []).map(
    (entry) => ({
      name: text(entry["name"]),
      signature: text(entry["signature"]),
      description: text(entry["description"]),
    }),
  );
}

async function show(name: string | undefined, context: CliContext, signal: AbortSignal): Promise<number> {
  const { io } = context;
  const desk = await openDesk(context);
  const source =
    name === undefined
      ? await desk.archive.readTools()
      : String(await askPython(`runtime.show_saved_tool(${JSON.stringify(name)})`, context, signal));
  if (source === "") io.stderr.write(`sandpy: ${NO_TOOLS}\n`);
  const isTerminal = terminalWidth(io.stdout) !== undefined;
  const text = isTerminal ? source.split("\n").map(printable).join("\n") : source;
  return print(io, text === "" || text.endsWith("\n") ? text : `${text}\n`);
}

async function remove(name: string, yes: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const shown = printable(JSON.stringify(name));
  if (!yes && io.stdinIsTerminal && !(await confirm(io, `Delete the saved tool ${shown} for good?`))) {
    io.stderr.write("sandpy: nothing was deleted\n");
    return EXIT_REFUSED;
  }
  // Before that a signal ends the program at once.
  return stoppable(io, WHAT, async (signal) => {
    await askPython(`[runtime.delete_saved_tool(${JSON.stringify(name)}), None][1]`, context, signal);
    return print(io, `Deleted ${shown}.\n`);
  });
}
