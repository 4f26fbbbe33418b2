import { BridgeError } from "../core/errors.ts";
import { SETTING_NAMES, SETTINGS, type SettingName, type SettingValue } from "./schema.ts";

/** Texts of settings under the names of their variables. */
export type SettingTexts = Partial<Readonly<Record<SettingName, string>>>;

/** What a configuration file says. */
export interface SettingsFile {
  /** As people write it: `~` for the home. */
  readonly shown: string;
  /** Absolute: relative paths in the file start there. */
  readonly folder: string;
  readonly texts: SettingTexts;
  /** `file:line:column` of a setting. */
  readonly places: SettingTexts;
}

/** Where settings come from; the first that says one counts. */
export interface SettingSources {
  readonly flags: SettingTexts;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: SettingsFile | undefined;
}

/** One value, and where it was set. */
export interface Given<N extends SettingName = SettingName> {
  readonly name: N;
  readonly text: string;
  readonly source: keyof SettingSources;
  readonly value: SettingValue<N>;
  /** As messages name it: the variable, the flag, or the key and its file. */
  readonly where: string;
}

/** The settings that somebody has set, checked. */
export class GivenSettings {
  readonly #file: SettingsFile | undefined;
  readonly #given = new Map<SettingName, readonly Given[]>();

  /** Throws `CONFIG_INVALID` that names every setting at fault. A variable that is blank counts as not set. */
  constructor(sources: SettingSources) {
    this.#file = sources.file;
    const faults: string[] = [];
    const wrong: Omit<Given, "value">[] = [];
    for (const name of SETTING_NAMES) {
      const found = textsOf(name, sources);
      const given = found.flatMap((each, rank) => {
        const counts = rank === 0 || SETTINGS[name].addsUp;
        // A file counts as a whole: a fault in it is one although a variable stands above it today.
        if (!counts && each.source !== "file") return [];
        const { parse, expected } = SETTINGS[name].form;
        const value = parse(each.text);
        if (value !== undefined) return counts ? [{ ...each, value }] : [];
        wrong.push(each);
        faults.push(this.#describe(each, expected));
        return [];
      });
      if (given.length > 0) this.#given.set(name, given);
    }
    if (faults.length > 0) throw invalid(faults, wrong);
  }

  get<N extends SettingName>(name: N): Given<N> | undefined {
    return this.all(name)[0];
  }

  value<N extends SettingName>(name: N): SettingValue<N> | undefined {
    return this.get(name)?.value;
  }

  /** Every place that sets it, for a setting that adds up; the strongest first. */
  all<N extends SettingName>(name: N): readonly Given<N>[] {
    return (this.#given.get(name) ?? []) as readonly unknown[] as readonly Given<N>[];
  }

  /** The error for a value that fits its form and not the others. */
  refuse(given: Given, expected: string): BridgeError {
    return invalid([this.#describe(given, expected)], [given]);
  }

  #describe({ name, text, source, where }: Omit<Given, "value">, expected: string): string {
    const subject = source === "file" ? `${this.#file?.places[name]}: ${SETTINGS[name].key}` : where;
    const shown = SETTINGS[name].isSecret ? "not usable" : JSON.stringify(text);
    return `${subject} is ${shown}: expected ${expected}`;
  }
}

/** How messages name a setting that comes from there. */
function describeWhere(
  name: SettingName,
  source: keyof SettingSources,
  file: SettingsFile | undefined,
): string {
  const { key, flag } = SETTINGS[name];
  if (source === "file" && file !== undefined) return `${key} in ${file.shown}`;
  return source === "flags" && flag !== undefined ? `--${flag}` : name;
}

function textsOf(name: SettingName, { flags, env, file }: SettingSources): readonly Omit<Given, "value">[] {
  const texts = { flags: flags[name]?.trim(), env: env[name]?.trim(), file: file?.texts[name] };
  return (["flags", "env", "file"] as const).flatMap((source) => {
    const text = texts[source];
    // Only a file can say that a list is empty, or nothing where something is expected.
    if (text === undefined || (text === "" && source !== "file")) return [];
    return [{ name, text, source, where: describeWhere(name, source, file) }];
  });
}

function invalid(faults: readonly string[], wrong: readonly Omit<Given, "value">[]): BridgeError {
  const places = wrong.map(({ name, source, where }) => (source === "file" ? SETTINGS[name].key : where));
  const leaveOut = wrong.every(({ source }) => source === "env") ? "unset" : "leave out";
  return new BridgeError("CONFIG_INVALID", faults.join("\n"), {
    hint: `Correct it, or ${leaveOut} ${places.join(" and ")} for the default.`,
    data: { variables: wrong.map(({ name }) => name) },
  });
}
