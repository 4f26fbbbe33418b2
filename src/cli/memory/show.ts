import { defineCommand } from "citty";
import { parseExactJson } from "../../core/exact-json.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { terminalWidth } from "../table.ts";
import { openDesk, unknownKey } from "./open.ts";

/** `sandpy memory show` */
export const showCommand = defineCommand({
  meta: { name: "show", description: "Print the value of a memory as JSON." },
  args: {
    key: {
      type: "positional",
      required: true,
      description: 'the memory; after "--" where it begins with a dash',
    },
    json: { type: "boolean", description: "print the times and metadata too" },
  },
  run: ({ args, data }) => show(args.key, args.json === true, data),
});

async function show(key: string, json: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const desk = await openDesk(context);
  const found = await desk.memory.loadMemory(key, desk.signal);
  if (found === null) throw await unknownKey(key, desk);
  if (json) {
    const { value, metadata, ...info } = found;
    return printJson(io, {
      ...info,
      metadata: metadata === null ? null : parseExactJson(metadata),
      value: parseExactJson(value),
    });
  }
  const isTerminal = terminalWidth(io.stdout) !== undefined;
  // A program gets every character; a terminal must not act on any.
  const text = isTerminal ? found.value.split("\n").map(printable).join("\n") : found.value;
  return print(io, `${text}\n`);
}
