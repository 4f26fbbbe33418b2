import { z } from "zod";

/** Limits that the tool states to the model and holds it to. */
export interface RunPythonLimits {
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
}

/** The arguments of one call, checked. */
export interface RunPythonArguments {
  readonly code: string;
  readonly servers: readonly string[];
  /** `undefined` for the configured default. */
  readonly timeoutSeconds: number | undefined;
  /** A handle or `"new"`; `undefined`: not said. */
  readonly session: string | undefined;
}

export const RUN_PYTHON = "run_python";
export const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_SERVERS = 256;
const MAX_SESSION_CHARS = 128;
const MAX_QUOTED_CHARS = 120;

/** The arguments of a call: what clients see of them, and how they are checked. */
export interface RunPythonInput {
  /** Advice; what holds is what `parse` checks, in words that a model can act on. */
  readonly jsonSchema: Record<string, unknown>;
  /** Checks the arguments of a call; the message of an `invalid` says how to do better. */
  parse(raw: unknown): ParsedArguments;
}

export type ParsedArguments =
  | { readonly kind: "valid"; readonly arguments: RunPythonArguments }
  | { readonly kind: "invalid"; readonly message: string };

/** Makes the schema once: that costs as much as the rest of a call. */
export function createRunPythonInput(limits: RunPythonLimits): RunPythonInput {
  const schema = argumentsSchema(limits);
  const { $schema: _, additionalProperties: __, ...jsonSchema } = z.toJSONSchema(schema);
  return {
    jsonSchema,
    parse(raw) {
      // Clients that fill in every optional argument send null for "not given".
      const given = Object.entries(raw ?? {}).filter(([key, value]) => value !== null || key === "code");
      const parsed = schema.safeParse(Object.fromEntries(given), { reportInput: true });
      if (!parsed.success) {
        const messages = new Set(parsed.error.issues.map((issue) => issue.message));
        return { kind: "invalid", message: [...messages].join("\n") };
      }
      const { code, servers = [], timeout, session } = parsed.data;
      return { kind: "valid", arguments: { code, servers, timeoutSeconds: timeout, session } };
    },
  };
}

function argumentsSchema({ timeoutSeconds, maxTimeoutSeconds }: RunPythonLimits) {
  const max = Math.max(1, Math.floor(maxTimeoutSeconds));
  const code = 'expected Python source as a string, such as {"code": "print(1 + 1)"}';
  const servers = ({ input, path }: { input?: unknown; path?: readonly PropertyKey[] | undefined }) => {
    const element = path?.[1] === undefined ? "" : `[${String(path[1])}]`;
    return `"servers"${element} is ${quote(input)}: expected an array of server names, such as {"servers": ${example(input)}}`;
  };
  const timeout = (issue: { readonly input?: unknown }) =>
    `"timeout" is ${quote(issue.input)}: expected a whole number of seconds from 1 to ${max}, such as {"timeout": ${Math.min(timeoutSeconds, max)}}`;
  const session = (issue: { readonly input?: unknown }) =>
    `"session" is ${quote(issue.input)}: expected a handle that run_python gave, or {"session": "new"} for a fresh Python; leave it out otherwise`;
  return z.strictObject(
    {
      code: z
        .string({
          error: ({ input }) => `"code" is ${input === undefined ? "missing" : quote(input)}: ${code}`,
        })
        .refine((text) => text.trim() !== "", { error: `"code" is blank: ${code}` })
        .refine((text) => Buffer.byteLength(text) <= MAX_CODE_BYTES, {
          error: `"code" is longer than ${MAX_CODE_BYTES} bytes: expected a shorter program; build large data inside it`,
        }),
      servers: z
        .array(z.string({ error: (issue) => servers(issue) }), { error: (issue) => servers(issue) })
        .refine((names) => names.length <= MAX_SERVERS, {
          error: `"servers" has more than ${MAX_SERVERS} names: expected those that the code calls`,
        })
        .optional()
        .describe("to preload"),
      timeout: z
        .int({ error: timeout })
        .min(1, { error: timeout })
        .max(max, { error: timeout })
        .optional()
        .describe(`seconds, default ${timeoutSeconds}`),
      session: z
        .string({ error: session })
        .refine((handle) => handle !== "" && handle.length <= MAX_SESSION_CHARS, { error: session })
        .optional()
        .describe("handle or new"),
    },
    {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? `unknown argument ${issue.keys.map((key) => quote(key)).join(", ")}: ${RUN_PYTHON} takes "code", "servers", "timeout" and "session"`
          : `the arguments are ${quote(issue.input)}: ${code}`,
    },
  );
}

/** The value as JSON, short enough to read. */
function quote(value: unknown): string {
  const json = typeof value === "number" ? String(value) : toJson(value);
  return json.length > MAX_QUOTED_CHARS ? `${json.slice(0, MAX_QUOTED_CHARS)}…` : json;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "nested too deep to be shown"; // by far: the parser takes more levels than the stack has room for
  }
}

/** What the caller most likely meant: models send one name, or the array as JSON text. */
function example(input: unknown): string {
  if (typeof input !== "string" || input.length > MAX_QUOTED_CHARS) return '["github"]';
  try {
    const inner: unknown = JSON.parse(input);
    if (Array.isArray(inner) && inner.every((name) => typeof name === "string")) return JSON.stringify(inner);
  } catch {
    // no JSON: a plain name
  }
  return JSON.stringify([input]);
}
