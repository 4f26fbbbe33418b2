import { defineCommand } from "citty";
import { explainSettings } from "../../config/explain.ts";
import { didYouMean, usage } from "../arguments.ts";
import { print } from "../output.ts";
import { printable } from "../printable.ts";
import { SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";

/** `sandpy config get` */
export const getCommand = defineCommand({
  meta: { name: "get", description: "Print the value of one setting that counts: a text, or JSON." },
  args: {
    key: {
      type: "positional",
      required: true,
      description: "its key in the configuration file, or its variable",
    },
    config: SETTING_FLAGS.config,
  },
  run: async ({ args, data: { io } }) => {
    const wanted = String(args.key);
    const { settings } = await explainSettings(io.env, settingOverrides(args));
    const setting = settings.find(({ key, name }) => key === wanted || name === wanted);
    if (setting === undefined) {
      const known = settings.flatMap(({ key, name }) => (key === null ? [name] : [key, name]));
      const hint = didYouMean(wanted, known) ?? 'Type "sandpy config" for all of them.';
      throw usage(`no setting is called ${JSON.stringify(wanted)}`, hint);
    }
    const { value } = setting;
    return print(io, `${typeof value === "string" ? printable(value) : JSON.stringify(value)}\n`);
  },
});
