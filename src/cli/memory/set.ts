import { defineCommand } from "citty";
import { isJson } from "../../core/is-json.ts";
import { usage } from "../arguments.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { readText } from "../read-text.ts";
import { openDesk } from "./open.ts";

/** `sandpy memory set` */
export const setCommand = defineCommand({
  meta: { name: "set", description: "Keep a value; its metadata stays as it is." },
  args: {
    key: { type: "positional", required: true, description: "the memory, new or not" },
    value: { type: "positional", required: true, description: 'JSON, or "-" for JSON at stdin' },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => set(args.key, args.value, args.json === true, data),
});

async function set(key: string, given: string, json: boolean, context: CliContext): Promise<number> {
  const { io } = context;
  const value = (given === "-" ? await readText("-", io.stdin) : given).trim();
  if (!isJson(value)) {
    throw usage(
      given === "-"
        ? "what stdin holds is not JSON"
        : `VALUE is ${JSON.stringify(given.slice(0, 200))}: expected JSON`,
      `Text needs quotes of its own, such as '"text"'.`,
    );
  }
  const desk = await openDesk(context);
  const isNew = (await desk.memory.loadMemory(key, desk.signal)) === null;
  await desk.memory.saveMemory({ key, value, metadata: null }, desk.signal);
  if (json) return printJson(io, { key, replaced: !isNew });
  return print(io, `${isNew ? "Saved" : "Replaced"} ${printable(JSON.stringify(key))}.\n`);
}
