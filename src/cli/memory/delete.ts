import { defineCommand } from "citty";
import { MANY, usage } from "../arguments.ts";
import { confirm } from "../confirm.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { openDesk, unknownKey } from "./open.ts";

const EXIT_REFUSED = 1;

/** `sandpy memory delete` */
export const deleteCommand = defineCommand({
  meta: { name: "delete", description: "Delete memories; asks first at a terminal." },
  args: {
    key: {
      type: "positional",
      required: false,
      valueHint: MANY,
      description: 'the memories; after "--" where one begins with a dash',
    },
    yes: { type: "boolean", alias: "y", description: "do not ask" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => remove(args._, { yes: args.yes === true, json: args.json === true }, data),
});

interface DeleteOptions {
  readonly yes: boolean;
  readonly json: boolean;
}

async function remove(
  keys: readonly string[],
  { yes, json }: DeleteOptions,
  context: CliContext,
): Promise<number> {
  if (keys.length === 0) throw usage("KEY is missing", 'Type "sandpy memory list" to see all.');
  const { io } = context;
  const desk = await openDesk(context);
  // All of them first: a name that is mistyped should not cost the others.
  for (const key of keys) {
    if ((await desk.memory.loadMemory(key, desk.signal)) === null) throw await unknownKey(key, desk);
  }
  const names = printable(keys.map((key) => JSON.stringify(key)).join(", "));
  if (!yes && io.stdinIsTerminal && !(await confirm(io, `Delete ${names} for good?`))) {
    io.stderr.write("sandpy: nothing was deleted\n");
    return EXIT_REFUSED;
  }
  for (const key of keys) await desk.memory.deleteMemory(key, desk.signal);
  if (json) return printJson(io, { deleted: keys });
  return print(io, `Deleted ${names}.\n`);
}
