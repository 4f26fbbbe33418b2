import { type ArgsDef, defineCommand } from "citty";

/** `sandpy memory`; each of its commands is loaded when it is called. */
export const memoryCommand = defineCommand<ArgsDef>({
  meta: {
    name: "memory",
    description: "Show and change what Python keeps: memories, saved tools and files.",
  },
  subCommands: {
    list: () => import("./list.ts").then((module) => module.listCommand),
    show: () => import("./show.ts").then((module) => module.showCommand),
    set: () => import("./set.ts").then((module) => module.setCommand),
    delete: () => import("./delete.ts").then((module) => module.deleteCommand),
    export: () => import("./transfer.ts").then((module) => module.exportCommand),
    import: () => import("./transfer.ts").then((module) => module.importCommand),
    files: () => import("./files.ts").then((module) => module.filesCommand),
    path: () => import("./path.ts").then((module) => module.pathCommand),
    tools: () => import("./tools.ts").then((module) => module.toolsCommand),
  },
});
