import { type ArgsDef, defineCommand } from "citty";
import { BridgeError } from "../../core/errors.ts";
import { MANY, usage } from "../arguments.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { reachSessions, SERVER_FLAGS } from "./reach.ts";

type Action = "end" | "interrupt" | "reset";

/** What is said when it is done, and when there was nothing to do. */
const WORDS = {
  end: { done: "Ended", nothing: "It had ended already:" },
  interrupt: { done: "Interrupted", nothing: "Nothing runs in" },
  reset: { done: "Gave a fresh Python to", nothing: "It had ended already:" },
} as const satisfies Record<Action, { readonly done: string; readonly nothing: string }>;

function createCommand(action: Action, description: string) {
  return defineCommand<ArgsDef>({
    meta: { name: action, description },
    args: {
      id: {
        type: "positional",
        required: false,
        valueHint: MANY,
        description: 'the sessions, by their ids as "sandpy sessions" shows them',
      },
      json: { type: "boolean", description: "print JSON" },
      ...SERVER_FLAGS,
    },
    run: ({ args, data }) => act(action, args._, args, data),
  });
}

/** `sandpy sessions end` */
export const endCommand = createCommand("end", "End sessions and their sandboxes, also while code runs.");
/** `sandpy sessions interrupt` */
export const interruptCommand = createCommand("interrupt", "Interrupt the code that runs in sessions.");
/** `sandpy sessions reset` */
export const resetCommand = createCommand("reset", "Give sessions a fresh Python; their variables are lost.");

async function act(
  action: Action,
  ids: readonly string[],
  args: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  if (ids.length === 0) throw usage("ID is missing", 'Type "sandpy sessions" to see all.');
  // What lets one into a session has no place in messages.
  if (ids.some((id) => id.startsWith("s_"))) {
    throw usage("that is the handle of a session: expected its id", 'Type "sandpy sessions" to see the ids.');
  }
  const server = await reachSessions(args, context);
  const known = new Set((await server.list()).sessions.map(({ id }) => id));
  // All of them first: one that is mistyped should not cost the others.
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) {
    throw new BridgeError("SESSION_UNKNOWN", `there is no session ${printable(JSON.stringify(unknown))}`, {
      hint: 'It has ended, or is another user\'s. Type "sandpy sessions" to see all.',
    });
  }
  const results = await Promise.all(ids.map(async (id) => ({ id, done: await server.act(id, action) })));
  if (args["json"] === true) return printJson(io, { action, sessions: results });
  const { done: did, nothing } = WORDS[action];
  return print(io, results.map(({ id, done }) => `${done ? did : nothing} ${id}.\n`).join(""));
}
