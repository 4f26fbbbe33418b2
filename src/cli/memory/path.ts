import { defineCommand } from "citty";
import { print } from "../output.ts";
import { openDesk } from "./open.ts";

/** `sandpy memory path` */
export const pathCommand = defineCommand({
  meta: { name: "path", description: "Print the folder that the memories are in, one file each." },
  args: {},
  run: async ({ data }) => print(data.io, `${(await openDesk(data)).archive.memoriesFolder}\n`),
});
