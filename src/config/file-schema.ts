import * as z from "zod";
import { GUIDE, type ShownValue } from "./guide.ts";
import { loadConfig } from "./load.ts";
import { SETTING_NAMES, SETTINGS, type SettingName, type Writing } from "./schema.ts";

const HOME = "/home/you";
/** One by one: of a namespace that is passed on the binary would hold all, with its 60 languages. */
const WRITING: Writing = {
  array: z.array,
  boolean: z.boolean,
  enum: z.enum,
  int: z.int,
  number: z.number,
  string: z.string,
  union: z.union,
};

/** What editors know of a setting in the file. */
export interface FileSetting {
  readonly name: SettingName;
  /** Keys from the outermost. */
  readonly path: readonly string[];
  readonly about: string;
  /** The default; `undefined` where there is none, or the machine decides. */
  readonly fallback: ShownValue | undefined;
  readonly example: ShownValue | undefined;
}

/** Every setting that can stand in the configuration file, in the order of the documentation. */
export function listFileSettings(): readonly FileSetting[] {
  const config = loadConfig({ HOME });
  return SETTING_NAMES.flatMap((name) => {
    const { key } = SETTINGS[name];
    if (key === undefined) return [];
    const { about, value, example } = GUIDE[name];
    const shown = name === "MCP_BRIDGE_AUDIT" ? true : value(config); // where the file lies depends on the system
    const fallback =
      shown === null ? undefined : typeof shown === "string" ? shown.replace(HOME, "~") : shown;
    return [{ name, path: key.split("."), about, fallback, example }];
  });
}

/**
 * The JSON schema of the configuration file (draft 2020-12), for editors. What it accepts is valid; the file may also
 * have any value as the text that its variable would hold, and `null` for nothing, which a schema would only obscure.
 */
export function createFileSchema(): Readonly<Record<string, unknown>> {
  const root: Group = new Map();
  for (const { name, path, about, fallback, example } of listFileSettings()) {
    let group = root;
    for (const key of path.slice(0, -1)) {
      const inner = group.get(key);
      const next: Group = inner instanceof Map ? inner : new Map();
      group.set(key, next);
      group = next;
    }
    const facts = {
      description: `${about} (${name})`,
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(example === undefined ? {} : { examples: [example] }),
    };
    group.set(path.at(-1) ?? "", SETTINGS[name].form.written(WRITING).meta(facts).optional());
  }
  const schema = toObject(root).extend({ $schema: z.string().optional() }).meta({
    title: "Settings of Sandpy",
    description: "~/.config/sandpy/config.jsonc: JSON with comments and trailing commas.",
  });
  return z.toJSONSchema(schema, { io: "input" });
}

type Group = Map<string, z.ZodType | Group>;

function toObject(group: Group): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(
      [...group].map(([key, value]) => [key, value instanceof Map ? toObject(value).optional() : value]),
    ),
  );
}
