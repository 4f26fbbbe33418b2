import { devNull } from "node:os";
import { defineCommand } from "citty";
import { findSettingsFile } from "../../config/load-file.ts";
import { print } from "../output.ts";
import { SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";

/** `sandpy config path` */
export const pathCommand = defineCommand({
  meta: { name: "path", description: "Print where the configuration file is, or would be." },
  args: { config: SETTING_FLAGS.config },
  run: ({ args, data: { io } }) =>
    print(io, `${findSettingsFile(io.env, settingOverrides(args)).path ?? devNull}\n`),
});
