import { type ArgsDef, defineCommand } from "citty";

/** `sandpy image`; each of its commands is loaded when it is called. */
export const imageCommand = defineCommand<ArgsDef>({
  meta: {
    name: "image",
    description: "Build, list and pull the container images that Python runs in.",
  },
  subCommands: {
    build: () => import("./build.ts").then((module) => module.buildCommand),
    list: () => import("./list.ts").then((module) => module.listCommand),
    pull: () => import("./pull.ts").then((module) => module.pullCommand),
  },
});
