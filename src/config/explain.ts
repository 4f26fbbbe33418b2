import { shortenHome } from "../core/home-path.ts";
import { findNearest } from "../core/nearest.ts";
import { GivenSettings, type SettingSources } from "./given.ts";
import { GUIDE, type ShownValue } from "./guide.ts";
import { type ConfigOverrides, loadConfig } from "./load.ts";
import { findSettingsFile, readSettingsFile } from "./load-file.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "./schema.ts";

const OWN_VARIABLE = /^MCP_BRIDGE_\w+$/;

/** One setting: what counts, and who says so. */
export interface EffectiveSetting {
  /** The variable. */
  readonly name: SettingName;
  /** Its key in the configuration file; `null` where it can stand in none. */
  readonly key: string | null;
  readonly about: string;
  /** As the file would have it, without secrets; `null` for nothing. */
  readonly value: ShownValue;
  readonly source: "default" | keyof SettingSources;
  /** The flag, the variable, or `file:line:column`; several for a list that adds up, the strongest first. */
  readonly where: readonly string[];
}

/** All settings, and what looks like one and is none. */
export interface Explanation {
  /** The configuration file that was read; `null` where there is none. */
  readonly file: string | null;
  readonly settings: readonly EffectiveSetting[];
  /** Variables of the environment that are called like ours, and are ignored. */
  readonly unknown: readonly { readonly name: string; readonly meant: string | null }[];
}

/** Says of every setting what counts and where it was set. Throws `CONFIG_INVALID` as loading them does. */
export async function explainSettings(
  env: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Promise<Explanation> {
  const file = await readSettingsFile(env, overrides);
  const config = loadConfig(env, overrides, file);
  const given = new GivenSettings({ flags: overrides, env, file });
  const path = file === undefined ? null : (findSettingsFile(env, overrides).path ?? null);
  const settings = SETTING_NAMES.map((name) => {
    const { about, value } = GUIDE[name];
    const places = given.all(name);
    return {
      name,
      key: SETTINGS[name].key ?? null,
      about,
      value:
        name === "MCP_BRIDGE_CONFIG" && path !== null ? shortenHome(path, config.homeDir) : value(config),
      source: places[0]?.source ?? ("default" as const),
      where: places.map(({ source, where }) => (source === "file" ? (file?.places[name] ?? where) : where)),
    };
  });
  const unknown = Object.keys(env)
    .filter((name) => OWN_VARIABLE.test(name) && !Object.hasOwn(SETTINGS, name))
    .sort()
    .map((name) => ({ name, meant: findNearest(name, SETTING_NAMES) ?? null }));
  return { file: path, settings, unknown };
}
