import { dirname } from "node:path";
import type { Config } from "../../config/config.ts";
import { isShell } from "../command-line.ts";
import type { Dialect } from "../dialects.ts";
import { fingerprintOf } from "../fingerprint.ts";
import { isObject } from "../formats/document.ts";
import type { Origin, RemoteServer, ServerDefinition, StdioServer } from "../server-definition.ts";
import { pinOf } from "../trust/pin.ts";
import {
  createExpander,
  type Expander,
  type FillBudget,
  type VariableScope,
  workspaceOf,
} from "../variables.ts";
import {
  type EntryFault,
  type EntryFields,
  flattenEntry,
  parseFields,
  readSwitch,
  type TransportFault,
} from "./fields.ts";
import { readTimeouts, readToolFilter } from "./limits.ts";
import { protocolOf, readRemote } from "./remote.ts";
import { readStdio } from "./stdio.ts";

/** A definition before the servers of all files are named together. */
export type NamedDefinition = Omit<ServerDefinition, "alias">;

/** What belongs to an entry beside its text. */
export interface EntryContext {
  readonly config: Config;
  readonly origin: Origin;
  readonly dialect: Dialect;
  /** Descriptions of what the file asks a person for, by their ids. */
  readonly inputs: ReadonlyMap<string, string>;
  /** The file stands for itself and belongs to no client. */
  readonly isBare: boolean;
  readonly budget: FillBudget;
}

/** What an entry turns out to be. */
export type EntryOutcome =
  | {
      readonly kind: "server";
      /** As if it were switched on. */
      readonly definition: NamedDefinition;
      /** Why it is switched off. */
      readonly off: string | undefined;
    }
  /** It only switches a server of another file on or off. */
  | { readonly kind: "toggle"; readonly isOn: boolean; readonly reason: string }
  | { readonly kind: "faults"; readonly faults: readonly EntryFault[] };

const MAX_NAME_CHARS = 200;
const STDIO_TYPES = ["stdio", "local"];
const URL_TYPES = ["http", "sse", "streamablehttp", "remote"];
const BUILTIN_TYPES = ["builtin", "platform", "frontend", "inlinepython"];

/** Turns one entry of a file into a definition. Nothing of it is run, whatever it says. */
export function readEntry(entry: unknown, context: EntryContext): EntryOutcome {
  if (!isObject(entry)) return fault("expected an object in braces");
  if (context.origin.key.trim() === "") return fault("expected a name for the server, found empty text");
  if (context.origin.key.length > MAX_NAME_CHARS)
    return fault(`expected a name of at most ${MAX_NAME_CHARS} characters`);
  const flat = flattenEntry(entry);
  const parsed = parseFields(flat);
  if (parsed.kind === "faults") return parsed;
  const { fields, urlKey } = parsed;
  const said = readSwitch(flat);
  if (fields.command === undefined && fields.url === undefined) return describeNothing(flat, fields, said);
  const scope: VariableScope = {
    ...context,
    fileFolder: dirname(context.origin.file),
    workspaceFolder: context.origin.folder ?? workspaceOf(context.config),
  };
  const expander = createExpander(scope);
  noteShellCommands(fields, context.dialect, expander);
  noteTemplates(fields, expander);
  noteKeyring(flat, context, expander);
  const transport = readTransport(flat, fields, urlKey, context, expander);
  if ("fault" in transport) {
    const path = transport.at === undefined ? [] : [transport.at];
    return { kind: "faults", faults: [{ path, message: `expected ${transport.fault}` }] };
  }
  // A new token in an argument does not make another server of it.
  const verbatim = createExpander({ ...scope, isVerbatim: true });
  const asWritten = readTransport(flat, fields, urlKey, context, verbatim);
  const written = "fault" in asWritten ? transport : asWritten;
  const fingerprint = fingerprintOf(withArgsOf(written, transport));
  const { sources } = verbatim;
  const { needs, needsVariablesAlone } = expander;
  const needing = { kind: "needs", what: needs } as const;
  return {
    kind: "server",
    definition: {
      name: context.origin.key,
      description: fields.description,
      transport,
      availability:
        needs.length === 0
          ? { kind: "usable" }
          : needsVariablesAlone
            ? needing
            : { ...needing, isMoreThanVariables: true },
      tools: readToolFilter(flat, context.dialect),
      ...readTimeouts(flat, context.dialect),
      origins: [context.origin],
      fingerprint,
      sources,
      pin: pinOf(fingerprint, written, sources),
    },
    off: said?.isOn === false ? said.reason : undefined,
  };
}

function withArgsOf(
  written: StdioServer | RemoteServer,
  transport: StdioServer | RemoteServer,
): StdioServer | RemoteServer {
  const isArgs = transport.kind === "stdio" && written.kind === "stdio";
  return isArgs ? { ...transport, args: written.args } : transport;
}

function readTransport(
  entry: Readonly<Record<string, unknown>>,
  fields: EntryFields,
  urlKey: string | undefined,
  { origin, config, dialect, isBare }: EntryContext,
  expander: Expander,
): StdioServer | RemoteServer | TransportFault {
  const { command, url } = fields;
  const type = fields.type?.toLowerCase().replace(/[-_\s]/g, "");
  const protocol = protocolOf(type, urlKey, dialect);
  const isStdio = type !== undefined && STDIO_TYPES.includes(type);
  if (command !== undefined && url !== undefined && !isStdio && !URL_TYPES.includes(type ?? "")) {
    return { fault: `"command" or ${JSON.stringify(urlKey)}, found both` };
  }
  if (command !== undefined && (url === undefined || isStdio)) {
    return readStdio(entry, { ...fields, command }, origin, isBare, config, expander);
  }
  if (protocol === undefined) {
    return { fault: `"http" or "sse", found ${JSON.stringify(fields.type)}`, at: "type" };
  }
  return readRemote(url ?? "", protocol, entry, fields, expander);
}

/** What an entry without a command and without a URL is. */
function describeNothing(
  entry: Readonly<Record<string, unknown>>,
  fields: EntryFields,
  said: ReturnType<typeof readSwitch>,
): EntryOutcome {
  const type = fields.type?.toLowerCase().replace(/[-_\s]/g, "");
  if (type !== undefined && BUILTIN_TYPES.includes(type)) {
    return note(`is a part of its client (${JSON.stringify(fields.type)}) and no server; it is left out`);
  }
  if (isObject(entry["settings"])) {
    return note("is an extension of its client, which alone can start it; it is left out");
  }
  if (said !== undefined) return { kind: "toggle", ...said };
  if (type !== undefined && URL_TYPES.includes(type)) return fault('expected a "url"');
  const isBlank = entry["command"] === "" || entry["cmd"] === "";
  return {
    kind: "faults",
    faults: [
      {
        path: ["command"],
        message: isBlank
          ? "expected the program to start, found empty text"
          : "expected the program to start, as text",
      },
    ],
  };
}

/** `$(…)` is a command for a shell: no file gets one run, except as the arguments of a shell that it names itself. */
function noteShellCommands(fields: EntryFields, dialect: Dialect, expander: Expander): void {
  const command = Array.isArray(fields.command) ? fields.command[0] : fields.command;
  const args = isShell(command ?? "") ? [] : fields.args;
  const words = Array.isArray(fields.command)
    ? isShell(command ?? "")
      ? []
      : fields.command
    : [command ?? ""];
  const texts: readonly (readonly [string, string])[] = [
    ...words.map((word) => ["command", word] as const),
    ...args.map((word) => ["args", word] as const),
    ...Object.entries(fields.env).map(([name, value]) => [`env.${name}`, value ?? ""] as const),
    ...Object.entries(fields.headers).map(([name, value]) => [`headers.${name}`, value] as const),
    ["url", fields.url ?? ""],
    ["cwd", fields.cwd ?? ""],
  ];
  const pattern = dialect.runsShell ? /\$\(|`/ : /\$\(/;
  for (const [where, text] of texts) {
    if (!pattern.test(text)) continue;
    expander.need(`the output of the shell command in ${JSON.stringify(where)}, which is never run`);
  }
}

/** Dotfile managers keep templates, and fill them in before a client sees the file. */
function noteTemplates({ command, url }: EntryFields, expander: Expander): void {
  const program = Array.isArray(command) ? command[0] : command;
  for (const text of [program, url]) {
    const template = /(?<!\$)\{\{[^{}]{0,200}\}\}|\{%[^{}]{0,200}%\}/.exec(text ?? "")?.[0];
    if (template !== undefined) expander.need(`the template ${JSON.stringify(template)} to be filled in`);
  }
}

/** Goose keeps values in the system's keyring and takes a variable of the same name before it. */
function noteKeyring(
  entry: Readonly<Record<string, unknown>>,
  { origin, config }: EntryContext,
  expander: Expander,
): void {
  const keys = entry["env_keys"];
  for (const key of Array.isArray(keys) ? keys : []) {
    if (typeof key === "string" && !Object.hasOwn(config.env, key)) {
      expander.need(`environment variable ${key}, which ${origin.client} keeps in a keyring`, "variable");
    }
  }
}

function fault(message: string): EntryOutcome {
  return { kind: "faults", faults: [{ path: [], message }] };
}

function note(message: string): EntryOutcome {
  return { kind: "faults", faults: [{ path: [], message, isNote: true }] };
}
