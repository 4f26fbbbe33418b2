import * as z from "zod";
import { isObject } from "../formats/document.ts";

/** What one entry says, under one name for each thing, whatever its client calls it. */
export type EntryFields = z.infer<typeof fieldsSchema>;

/** What clients call the same thing; of several in one entry the first counts. */
const SPELLINGS = {
  command: ["command", "cmd"],
  args: ["args", "arguments"],
  env: ["env", "environment", "envs"],
  envFile: ["envFile", "env_file"],
  cwd: ["cwd", "working_directory", "workingDirectory"],
  url: ["httpUrl", "url", "serverUrl", "baseUrl", "uri", "server_url", "base_url", "http_url"],
  type: ["type", "transport", "transportType"],
  headers: ["headers", "http_headers", "httpHeaders"],
  description: ["description"],
} as const;

/** The longest text that Linux gives to a program as one argument or variable. */
const MAX_TEXT_CHARS = 128 * 1024 - 1;
const MAX_DESCRIPTION_CHARS = 1000;

/** Numbers and booleans stand unquoted in many files; a process only knows text. */
const scalar = z
  .union([z.string(), z.number(), z.bigint(), z.boolean()], { error: "expected text" })
  .transform(String)
  .refine((text) => !text.includes("\0"), { error: "expected text without a null character" })
  .refine((text) => text.length <= MAX_TEXT_CHARS, {
    error: `expected at most ${MAX_TEXT_CHARS} characters`,
  });
const record = <T extends z.ZodType>(value: T) =>
  z.record(z.string(), value, { error: "expected an object in braces" });
const PROGRAM = "expected the program to start, as text";

const fieldsSchema = z.object({
  command: z
    .union([z.array(scalar).min(1), scalar], { error: PROGRAM })
    .nullish()
    .transform((command) => (command === "" ? undefined : (command ?? undefined))),
  args: z
    .array(scalar, { error: "expected a list of text in brackets" })
    .nullish()
    .transform((args) => args ?? []),
  env: record(scalar.nullable())
    .nullish()
    .transform((env) => env ?? {}),
  envFile: scalar.optional().catch(undefined),
  cwd: z
    .string({ error: "expected a folder, as text" })
    .max(MAX_TEXT_CHARS, { error: `expected at most ${MAX_TEXT_CHARS} characters` })
    .nullish()
    .transform((cwd) => (cwd === null || cwd === "" ? undefined : cwd)),
  url: scalar.nullish().transform((url) => (url === null || url === "" ? undefined : url)),
  type: z.string().optional().catch(undefined),
  headers: record(scalar)
    .nullish()
    .transform((headers) => headers ?? {}),
  description: z
    .string()
    .default("")
    .catch("")
    .transform((text) => text.slice(0, MAX_DESCRIPTION_CHARS)),
});

/** A fault in an entry: the way to it from the entry, and what is wrong. */
export interface EntryFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** Nothing is wrong: it only says what was left out. */
  readonly isNote?: true;
}

/** Why an entry cannot be started or reached: `expected ${fault}`, at the key `at` of the entry or at the whole. */
export interface TransportFault {
  readonly fault: string;
  readonly at?: string | undefined;
}

export type ParsedFields =
  | { readonly kind: "fields"; readonly fields: EntryFields; readonly urlKey: string | undefined }
  | { readonly kind: "faults"; readonly faults: readonly EntryFault[] };

/** Puts parts that some clients nest on one level: `transport: {type, …}` of Cline, `command: {path, args}` of old Zed. */
export function flattenEntry(entry: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { transport, command } = entry;
  return {
    ...entry,
    ...(isObject(transport) ? { ...transport, transport: undefined } : {}),
    ...(isObject(command) ? { ...command, command: command["path"] } : {}),
  };
}

/** Checks an entry that {@link flattenEntry} made flat. */
export function parseFields(entry: Readonly<Record<string, unknown>>): ParsedFields {
  const keys = new Map<string, string>();
  const given: Record<string, unknown> = {};
  for (const [name, spellings] of Object.entries(SPELLINGS)) {
    const key = spellings.find((spelling) => isGiven(entry, spelling));
    if (key === undefined) continue;
    keys.set(name, key);
    given[name] = entry[key];
  }
  const requestOptions = entry["requestOptions"];
  if (given["headers"] === undefined && isObject(requestOptions))
    given["headers"] = requestOptions["headers"];
  const parsed = fieldsSchema.safeParse(given);
  if (parsed.success) return { kind: "fields", fields: parsed.data, urlKey: keys.get("url") };
  const faults = parsed.error.issues.map(({ path: [name = "", ...rest], message }) => ({
    path: [keys.get(String(name)) ?? String(name), ...rest.map((key) => key as string | number)],
    message,
  }));
  return { kind: "faults", faults };
}

/** Whether the key says something: an empty URL or command beside a real one does not (Jan writes such). */
function isGiven(entry: Readonly<Record<string, unknown>>, key: string): boolean {
  return Object.hasOwn(entry, key) && entry[key] !== undefined && entry[key] !== null && entry[key] !== "";
}

/** What an entry says of being on: `undefined` where it says nothing. */
export function readSwitch(
  entry: Readonly<Record<string, unknown>>,
): { readonly isOn: boolean; readonly reason: string } | undefined {
  const said = [
    ["disabled", false],
    ["enabled", true],
    ["active", true],
  ] as const;
  let on: string | undefined;
  for (const [key, onValue] of said) {
    const value = entry[key] === "true" ? true : entry[key] === "false" ? false : entry[key];
    if (typeof value !== "boolean") continue;
    const reason = `"${key}" is ${value}`;
    if (value !== onValue) return { isOn: false, reason };
    on ??= reason;
  }
  return on === undefined ? undefined : { isOn: true, reason: on };
}
