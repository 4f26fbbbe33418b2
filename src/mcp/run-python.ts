import { z } from "zod";
import type { RunResult } from "./python-runner.ts";

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
}

/** A tool result that has nothing but text: every client hands exactly this to the model, once. */
export interface TextResult {
  readonly content: [{ readonly type: "text"; readonly text: string }];
  readonly isError?: true;
  readonly [key: string]: unknown;
}

export const RUN_PYTHON = "run_python";
export const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_SERVERS = 256;
const MAX_QUOTED_CHARS = 120;

/** What a model must know to succeed at its first try. Each word is paid for in every conversation. */
export const RUN_PYTHON_DESCRIPTION = `Run Python in a sandbox without network. Variables persist between calls; top-level await works; the last expression's value is shown. Code can call the user's other MCP servers:
runtime.discovered_servers()
await runtime.list_tools(server)
await runtime.query_tool_docs(server, tool)  # how to call it
r = await mcp_<alias>.<tool>(**kwargs)  # r.text, r.data; errors raise`;

/** The JSON schema that clients see. It is advice: {@link parseArguments} checks, in words that a model can act on. */
export function inputJsonSchema(limits: RunPythonLimits): Record<string, unknown> {
  const { $schema: _, additionalProperties: __, ...schema } = z.toJSONSchema(argumentsSchema(limits));
  return schema;
}

/** Checks the arguments of a call; the message of an `invalid` says how to do better. */
export function parseArguments(
  raw: unknown,
  limits: RunPythonLimits,
):
  | { readonly kind: "valid"; readonly arguments: RunPythonArguments }
  | { readonly kind: "invalid"; readonly message: string } {
  // Clients that fill in every optional argument send null for "not given".
  const given = Object.entries(raw ?? {}).filter(([key, value]) => value !== null || key === "code");
  const parsed = argumentsSchema(limits).safeParse(Object.fromEntries(given), { reportInput: true });
  if (!parsed.success) {
    const messages = new Set(parsed.error.issues.map((issue) => issue.message));
    return { kind: "invalid", message: [...messages].join("\n") };
  }
  const { code, servers = [], timeout } = parsed.data;
  return { kind: "valid", arguments: { code, servers, timeoutSeconds: timeout } };
}

/** What the model reads: stdout as it is, the value, then what there is of stderr, traceback and notes. */
export function renderRunResult(result: RunResult): TextResult {
  const parts = [result.stdout];
  if (result.result !== null) parts.push(result.result);
  if (result.stderr !== "") parts.push(`[stderr]\n${result.stderr}`);
  if (result.error !== null) parts.push(renderCodeError(result.error));
  parts.push(renderEnding(result));
  parts.push(...result.notes.map((note) => `[note] ${note}`));
  const text = joinLines(parts);
  return isFailure(result) ? errorResult(text) : { content: [{ type: "text", text: text.toWellFormed() }] };
}

/** A failure that the model is to read and recover from. */
export function errorResult(text: string): TextResult {
  return { content: [{ type: "text", text: text.toWellFormed() }], isError: true };
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
        .describe("MCP servers to connect first"),
      timeout: z
        .int({ error: timeout })
        .min(1, { error: timeout })
        .max(max, { error: timeout })
        .optional()
        .describe(`seconds, default ${timeoutSeconds}`),
    },
    {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? `unknown argument ${issue.keys.map((key) => quote(key)).join(", ")}: ${RUN_PYTHON} takes "code", "servers" and "timeout"`
          : `the arguments are ${quote(issue.input)}: ${code}`,
    },
  );
}

/** The value as JSON, short enough to read. */
function quote(value: unknown): string {
  const json = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return json.length > MAX_QUOTED_CHARS ? `${json.slice(0, MAX_QUOTED_CHARS)}…` : json;
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

function renderCodeError({ ename, evalue, traceback }: NonNullable<RunResult["error"]>): string {
  return traceback === "" ? `${ename}: ${evalue}` : traceback;
}

/** How a run ended that did not end by itself; where there are notes, they say it, and better. */
function renderEnding({ status, exitCode, notes }: RunResult): string {
  if (status === "exit") return `[exit] code ${exitCode ?? 0}`;
  return status === "ok" || status === "error" || notes.length > 0 ? "" : `[${status}]`;
}

function isFailure({ status, exitCode }: RunResult): boolean {
  return status === "exit" ? (exitCode ?? 0) !== 0 : status !== "ok";
}

/** Each part starts on a line of its own; stdout keeps its own ending. */
function joinLines(parts: readonly string[]): string {
  let text = "";
  for (const part of parts) {
    if (part === "") continue;
    text += text === "" || text.endsWith("\n") ? part : `\n${part}`;
  }
  return text === "" ? "(no output)" : text;
}
