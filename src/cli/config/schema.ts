import { defineCommand } from "citty";
import { createFileSchema } from "../../config/file-schema.ts";
import { printJson } from "../output.ts";

/** `sandpy config schema` */
export const schemaCommand = defineCommand({
  meta: { name: "schema", description: "Print the JSON schema of the configuration file, for editors." },
  run: ({ data: { io } }) => printJson(io, createFileSchema()),
});
