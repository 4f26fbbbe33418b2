import { type ConfigDocument, isObject, type ValuePath, valueAt } from "./formats/document.ts";
import { findClaudeProject } from "./layouts.ts";
import type { Origin } from "./server-definition.ts";

/** Says which servers of a client are off, outside their own entries. */
export interface Switch {
  /** Why the server `key` of a file of this scope is off; `undefined` where it is not. */
  reasonFor(key: string, scope: Origin["scope"]): string | undefined;
  /** Tools of that server that may not be used: names or globs. */
  deniedTools?(key: string): readonly string[];
}

/** Of one list; nobody writes so many by hand. */
const MAX_PATTERNS = 1000;

/** Finds such lists in a document. */
export type ReadSwitches = (document: ConfigDocument, projectFolders: readonly string[]) => readonly Switch[];

/** Gemini and its relatives: `mcp.allowed` and `mcp.excluded`, names or globs. */
export const readAllowedAndExcluded: ReadSwitches = (document) => [
  ...listed(document, ["mcp", "excluded"]),
  ...listed(document, ["excludeMCPServers"]),
  ...unlisted(document, ["mcp", "allowed"]),
  ...unlisted(document, ["allowMCPServers"]),
];

/** Claude Code's own file: lists for each project. */
export const readClaudeProjectSwitches: ReadSwitches = (document, projectFolders) => {
  const project = findClaudeProject(document.value, projectFolders);
  if (project === undefined) return [];
  return [
    ...listed(document, [...project, "disabledMcpServers"]),
    ...listed(document, [...project, "disabledMcpjsonServers"], "project"),
  ];
};

/** Claude Code's settings: what the user said no to of a project's `.mcp.json`, and of tools. */
export const readClaudeSettingsSwitches: ReadSwitches = (document) => [
  ...listed(document, ["disabledMcpjsonServers"], "project"),
  ...deniedTools(document, ["permissions", "deny"], claudeName),
];

/** Amp: `mcp__server__tool` in a list of tools that are off. */
export const readAmpSwitches: ReadSwitches = (document) =>
  deniedTools(document, ["amp.tools.disable"], claudeName);

/** opencode: `"tools": {"server_tool": false}` takes one tool away, and `server_*` all. */
export const readToolSwitches: ReadSwitches = (document) => {
  const tools = valueAt(document.value, ["tools"]);
  const patterns = isObject(tools) ? Object.keys(tools).filter((name) => tools[name] === false) : [];
  return toolSwitches(document, "tools", patterns, (key) => ({ whole: `${key}*`, prefix: `${key}_` }));
};

/** How a server and the beginning of its tools are called in a list of tools. */
type ToolNames = (key: string) => { readonly whole: string; readonly prefix: string };

const claudeName: ToolNames = (key) => {
  const whole = `mcp__${key.replace(/[^\w-]/g, "_")}`;
  return { whole, prefix: `${whole}__` };
};

function deniedTools(document: ConfigDocument, path: ValuePath, names: ToolNames): readonly Switch[] {
  const list = valueAt(document.value, path);
  const patterns = Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
  return toolSwitches(document, String(path.at(-1)), patterns, names);
}

function toolSwitches(
  document: ConfigDocument,
  label: string,
  all: readonly string[],
  names: ToolNames,
): readonly Switch[] {
  const patterns = all.slice(0, MAX_PATTERNS);
  if (patterns.length === 0) return [];
  const known = new Set(patterns);
  return [
    {
      reasonFor: (key) => {
        const { whole, prefix } = names(key);
        const found = [whole, `${prefix}*`].find((pattern) => known.has(pattern));
        return found === undefined
          ? undefined
          : `${JSON.stringify(label)} has ${JSON.stringify(found)} in ${document.file}`;
      },
      deniedTools: (key) => {
        const { prefix } = names(key);
        return patterns
          .filter((pattern) => pattern.startsWith(prefix))
          .map((pattern) => pattern.slice(prefix.length))
          .filter((tool) => tool !== "*"); // that is the server
      },
    },
  ];
}

function listed(document: ConfigDocument, path: ValuePath, only?: Origin["scope"]): readonly Switch[] {
  const matches = readGlobs(document, path);
  if (matches === undefined) return [];
  const reason = `${JSON.stringify(path.at(-1))} lists it in ${document.file}`;
  return [
    {
      reasonFor: (key, scope) =>
        (only === undefined || scope === only) && matches(key) ? reason : undefined,
    },
  ];
}

function unlisted(document: ConfigDocument, path: ValuePath): readonly Switch[] {
  const matches = readGlobs(document, path);
  if (matches === undefined) return [];
  const reason = `${JSON.stringify(path.at(-1))} does not list it in ${document.file}`;
  return [{ reasonFor: (key) => (matches(key) ? undefined : reason) }];
}

function readGlobs(document: ConfigDocument, path: ValuePath): ((key: string) => boolean) | undefined {
  const list = valueAt(document.value, path);
  if (!Array.isArray(list)) return undefined;
  const names = new Set<unknown>(list);
  const globs = list
    .filter((name): name is string => typeof name === "string" && /[*?]/.test(name))
    .slice(0, 100)
    .map((name) => new Bun.Glob(name));
  return (key) => names.has(key) || globs.some((glob) => glob.match(key));
}
