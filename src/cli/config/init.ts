import { defineCommand } from "citty";
import { findSettingsFile } from "../../config/load-file.ts";
import { writeStarterFile } from "../../config/starter-file.ts";
import { usage } from "../arguments.ts";
import { print } from "../output.ts";
import { SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";

/** `sandpy config init` */
export const initCommand = defineCommand({
  meta: {
    name: "init",
    description: "Write a configuration file in which every setting stands as a comment, and its schema.",
  },
  args: { config: { ...SETTING_FLAGS.config, description: "write this file" } },
  run: async ({ args, data: { io } }) => {
    const { path } = findSettingsFile(io.env, settingOverrides(args));
    if (path === undefined)
      throw usage("no file is to be used", "Unset MCP_BRIDGE_CONFIG, or name one with --config.");
    await writeStarterFile(path);
    return print(io, `${path}\n`);
  },
});
