import { dirname, resolve } from "node:path";
import * as z from "zod";
import type { ConfigSource } from "./clients.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { ConfigDocument } from "./read.ts";
import type { DiscoveryProblem, Origin, ServerDefinition, StdioServer } from "./server-definition.ts";

/** A definition before the servers of all files are named together. */
export type NamedDefinition = Omit<ServerDefinition, "alias">;

/** What one file gives. */
export interface FileServers {
  readonly servers: readonly NamedDefinition[];
  readonly problems: readonly DiscoveryProblem[];
}

/** Numbers and booleans stand unquoted in many files; a process only knows text. */
const scalar = z
  .union([z.string(), z.number(), z.boolean()], { error: "expected text" })
  .transform(String)
  .refine((text) => !text.includes("\0"), { error: "expected text without a null character" });
const record = <T extends z.ZodType>(value: T) =>
  z.record(z.string(), value, { error: "expected an object in braces" });

const entrySchema = z.object({
  command: z.string({ error: "expected the program to start, as text" }).trim().min(1, {
    error: "expected the program to start, found empty text",
  }),
  args: z.array(scalar, { error: "expected a list of text in brackets" }).default([]),
  env: record(scalar.nullable()).default({}),
  cwd: z.string({ error: "expected a folder, as text" }).optional(),
  description: z.string().default("").catch(""),
});
const switchSchema = z.looseObject({
  disabled: z.boolean().optional().catch(undefined),
  enabled: z.boolean().optional().catch(undefined),
});

const REMOTE_KEYS = ["url", "serverUrl", "httpUrl", "baseUrl", "uri"] as const;
const STDIO_TYPES = ["stdio", "local"];

/**
 * Turns the servers of one file into definitions. Every entry that cannot be used gives a problem at its place, and
 * the others still load; an entry that is switched off gives neither. Variables such as `${HOME}` stay as they are.
 */
export function normalizeDocument(
  document: ConfigDocument,
  { client, scope, serversKey }: ConfigSource,
  homeDir: string,
): FileServers {
  const servers: NamedDefinition[] = [];
  const problems: DiscoveryProblem[] = [];
  const report = (path: readonly (string | number)[], message: string) => {
    problems.push({ where: document.place([...path]), message: `${renderPath(path)}: ${message}` });
  };
  const mapping = serversKey.reduce<unknown>(
    (value, key) => (isObject(value) ? value[key] : undefined),
    document.value,
  );
  if (!isObject(mapping)) {
    const shown = renderPath(serversKey);
    if (mapping !== undefined) report(serversKey, "expected an object in braces");
    else
      problems.push({
        where: document.file,
        message: `has no "${shown}": expected {"${shown}": {"name": {…}}}`,
      });
    return { servers, problems };
  }
  for (const key of document.duplicateKeys([...serversKey])) {
    report([...serversKey, key], "is defined more than once; the last definition is used");
  }
  for (const [key, entry] of Object.entries(mapping)) {
    const path = [...serversKey, key];
    const fault = findFault(key, entry);
    if (fault === "off") continue;
    if (fault !== undefined) {
      report(path, fault);
      continue;
    }
    const parsed = entrySchema.safeParse(entry);
    if (parsed.success)
      servers.push(createDefinition({ client, scope, file: document.file, key }, parsed.data, homeDir));
    else
      for (const issue of parsed.error.issues) report([...path, ...(issue.path as string[])], issue.message);
  }
  return { servers, problems };
}

/** Why an entry is not worth a closer look: a fault in words, `off`, or `undefined` for a server with a command. */
function findFault(key: string, entry: unknown): string | undefined {
  if (!isObject(entry)) return "expected an object in braces";
  const { disabled, enabled } = switchSchema.parse(entry);
  if (disabled === true || enabled === false) return "off";
  if (key.trim() === "") return "expected a name for the server, found empty text";
  const type = typeof entry["type"] === "string" ? entry["type"].toLowerCase() : undefined;
  const isRemote = type === undefined ? entry["command"] === undefined : !STDIO_TYPES.includes(type);
  if (isRemote && REMOTE_KEYS.some((name) => name in entry)) {
    return 'is reached by URL, which is not supported yet: expected "command" and "args"';
  }
  if (isRemote && type !== undefined) return `"type" is ${JSON.stringify(entry["type"])}: expected "stdio"`;
  return undefined;
}

function createDefinition(
  origin: Origin,
  entry: z.infer<typeof entrySchema>,
  homeDir: string,
): NamedDefinition {
  const locate = (path: string) => resolvePath(path, dirname(origin.file), homeDir);
  const transport: StdioServer = {
    kind: "stdio",
    command: isPath(entry.command) ? locate(entry.command) : entry.command,
    args: entry.args,
    env: Object.fromEntries(
      Object.entries(entry.env).filter((pair): pair is [string, string] => pair[1] !== null),
    ),
    cwd: entry.cwd === undefined || entry.cwd === "" ? undefined : locate(entry.cwd),
  };
  return {
    name: origin.key,
    description: entry.description,
    transport,
    availability: { kind: "usable" },
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [origin],
    fingerprint: fingerprintOf(transport),
  };
}

/** A bare word is looked up on PATH, and so is a whole command line such as `npx -y @scope/name`. */
function isPath(command: string): boolean {
  return /^(\.{1,2}|~|[^\s/]*)\//.test(command);
}

/** Relative paths belong to the file that names them. One that starts with a variable cannot be resolved yet. */
function resolvePath(path: string, folder: string, homeDir: string): string {
  if (path === "~" || path.startsWith("~/")) return `${homeDir}${path.slice(1)}`;
  return path.startsWith("$") ? path : resolve(folder, path);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function renderPath(path: readonly (string | number)[]): string {
  return path
    .map((key) =>
      typeof key === "number" ? `[${key}]` : /^[\w-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    )
    .join("")
    .replace(/^\./, "");
}
