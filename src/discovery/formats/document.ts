const MAX_SHOWN_CHARS = 100;

/** The way from the root of a document to a value. */
export type ValuePath = readonly (string | number)[];

/** A parsed configuration file, whatever its format. */
export interface ConfigDocument {
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value at `path`, or of what encloses it; both count from 1. Only `file` where unknown. */
  place(path: ValuePath): string;
  /** Keys that the mapping at `path` has more than once; the last of them counts. */
  duplicateKeys(path: ValuePath): readonly string[];
}

/** Why a text is no document of its format. */
export class FormatError extends Error {
  override readonly name = "FormatError";
  /** Where, both counted from 1. */
  readonly position: { readonly line: number; readonly column: number } | undefined;

  constructor(message: string, position: FormatError["position"]) {
    super(message);
    this.position = position;
  }
}

/** Turns text into a document; throws a {@link FormatError}. */
export type ParseText = (file: string, text: string) => ConfigDocument | Promise<ConfigDocument>;

/** A value with named parts, as opposed to a list or a scalar. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own value at the end of `path`, or `undefined` where there is none. */
export function valueAt(value: unknown, path: ValuePath): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** `mcpServers["my server"].args[1]`; very long keys are cut. */
export function renderPath(path: ValuePath): string {
  return path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      const shown = key.length > MAX_SHOWN_CHARS ? `${key.slice(0, MAX_SHOWN_CHARS)}…` : key;
      return /^[\w-]+$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
    })
    .join("")
    .replace(/^\./, "");
}

/** Which of some keys come more than once. */
export function repeated(keys: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const again = new Set<string>();
  for (const key of keys) (seen.has(key) ? again : seen).add(key);
  return [...again];
}
