import { type ConfigDocument, isObject, type ValuePath, valueAt } from "./formats/document.ts";
import { findClaudeProject } from "./layouts.ts";
import type { Origin } from "./server-definition.ts";

/** Says which servers of a client are off, outside their own entries. */
export interface Switch {
  /** Why the server `key` of a file of this scope is off; `undefined` where it is not. */
  reasonFor(key: string, scope: Origin["scope"]): string | undefined;
}

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

/** Claude Code's settings: what the user said no to of a project's `.mcp.json`. */
export const readClaudeSettingsSwitches: ReadSwitches = (document) =>
  listed(document, ["disabledMcpjsonServers"], "project");

/** opencode: `"tools": {"name_*": false}` takes all tools of a server away. */
export const readToolSwitches: ReadSwitches = (document) => {
  const tools = valueAt(document.value, ["tools"]);
  if (!isObject(tools)) return [];
  const isOff = (pattern: string) => Object.hasOwn(tools, pattern) && tools[pattern] === false;
  return [
    {
      reasonFor: (key) => {
        const pattern = [`${key}_*`, `${key}*`].find(isOff);
        return pattern === undefined
          ? undefined
          : `"tools" has ${JSON.stringify(pattern)}: false in ${document.file}`;
      },
    },
  ];
};

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
