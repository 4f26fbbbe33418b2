import { type ArgsDef, defineCommand } from "citty";
import { LIST_FLAGS, listSessions } from "./list.ts";

/** `sandpy sessions`: alone, the list; the commands that change something are loaded when they are called. */
export const sessionsCommand = defineCommand<ArgsDef>({
  meta: {
    name: "sessions",
    description: 'List, interrupt, reset and end the sessions of a "sandpy serve --http" that runs.',
  },
  args: LIST_FLAGS,
  subCommands: {
    list: () => import("./list.ts").then((module) => module.listCommand),
    end: () => import("./act.ts").then((module) => module.endCommand),
    interrupt: () => import("./act.ts").then((module) => module.interruptCommand),
    reset: () => import("./act.ts").then((module) => module.resetCommand),
  },
  run: ({ args, data }) => listSessions(args, data),
});
