import { BridgeError } from "../core/errors.ts";
import { SETTING_NAMES, SETTINGS, type SettingName, type SettingValue } from "./schema.ts";

/** Texts of settings under the names of their variables. */
export type SettingTexts = Partial<Readonly<Record<SettingName, string>>>;

const MAX_FAULTS = 20;
/** The hint where a configuration file cannot be used. */
export const MEND_FILE = "Correct the file, or move it away.";

/** Something in a configuration file that cannot be used. */
export interface FileFault {
  /** The setting whose value it is; `undefined` where it is none. */
  readonly name?: SettingName | undefined;
  /** With its place. */
  readonly message: string;
}

/** What a configuration file says. */
export interface SettingsFile {
  /** As people write it: `~` for the home. */
  readonly shown: string;
  /** Absolute: relative paths in the file start there. */
  readonly folder: string;
  readonly texts: SettingTexts;
  /** `file:line:column` of a setting. */
  readonly places: SettingTexts;
  readonly faults: readonly FileFault[];
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

  /** Throws `CONFIG_INVALID` that names all that is at fault, wherever it stands. A variable that is blank counts as not set. */
  constructor(sources: SettingSources) {
    this.#file = sources.file;
    const told = sources.file?.faults ?? [];
    const faults = told.map(({ message }) => message);
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
        if (each.source !== "file") faults.push(this.#describe(each, expected)); // else it has told
        return [];
      });
      if (given.length > 0) this.#given.set(name, given);
    }
    if (faults.length === 0) return;
    const isMisread = told.some(({ name }) => name === undefined);
    throw invalid(faults, wrong, isMisread);
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
    return describeValue(name, text, subject, expected);
  }
}

/** Says that a value cannot be used, without it where it is a secret. `subject` is what messages call the setting. */
export function describeValue(
  name: SettingName,
  text: string,
  subject: string | undefined,
  expected: string = SETTINGS[name].form.expected,
): string {
  const shown = SETTINGS[name].isSecret ? "not usable" : JSON.stringify(text);
  return `${subject} is ${shown}: expected ${expected}`;
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

/** `isMisread`: the file has faults beside values. */
function invalid(
  faults: readonly string[],
  wrong: readonly Omit<Given, "value">[],
  isMisread = false,
): BridgeError {
  const places = wrong
    .filter(({ source }) => source !== "file" || !isMisread)
    .map(({ name, source, where }) => (source === "file" ? SETTINGS[name].key : where));
  const leaveOut = wrong.every(({ source }) => source === "env") ? "unset" : "leave out";
  const rest = faults.length - MAX_FAULTS;
  const lines = rest > 0 ? [...faults.slice(0, MAX_FAULTS), `and ${rest} more faults`] : faults;
  const advice = [
    ...(isMisread ? [MEND_FILE] : []),
    ...(places.length > 0 ? [`Correct it, or ${leaveOut} ${places.join(" and ")} for the default.`] : []),
  ];
  return new BridgeError("CONFIG_INVALID", lines.join("\n"), {
    hint: advice.join(" "),
    data: { variables: wrong.map(({ name }) => name) },
  });
}
