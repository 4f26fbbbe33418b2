import { basename, extname } from "node:path";
import { CRUSH, type Dialect, GENERIC, GOOSE, LITERAL, OPENCODE, VSCODE } from "./dialects.ts";
import { withoutLastSlashes } from "./fingerprint.ts";
import { type ConfigDocument, isObject, type ValuePath, valueAt } from "./formats/document.ts";

/** One entry of a document, before anybody looks at what it says. */
export interface RawEntry {
  /** The server's name. */
  readonly key: string;
  readonly path: ValuePath;
  readonly value: unknown;
}

/** What a layout finds in a document. */
export type Reached =
  | {
      readonly kind: "entries";
      readonly entries: readonly RawEntry[];
      /** The mapping or list that holds them. */
      readonly path: ValuePath;
      /** Where the shape of the document told it, and not the table. */
      readonly dialect?: Dialect;
    }
  | { readonly kind: "nothing" }
  | { readonly kind: "fault"; readonly path: ValuePath; readonly message: string };

/** How servers are reached in the documents of one kind. */
export interface Layout {
  /** For the documentation: `mcpServers`, `mcp.servers`, … */
  readonly label: string;
  reach(document: ConfigDocument, projectFolders: readonly string[]): Reached;
}

/**
 * A mapping or list of named servers under the first of some paths. Most such files hold other settings too, so one
 * without servers is no fault.
 */
export function at(...paths: readonly string[][]): Layout {
  return {
    label: paths.map(renderLabel).join(" or "),
    reach: (document) => reachFirst(document.value, paths) ?? { kind: "nothing" },
  };
}

/** A file that holds nothing but servers: under the key, or another that is common, or of another shape. */
export function servers(...key: readonly string[]): Layout {
  return {
    label: renderLabel(key),
    reach: (document) => {
      const reached = reachFirst(document.value, [[...key]]) ?? reachAnyShape(document, renderLabel(key));
      if (reached.kind !== "entries") return reached;
      const { dialect: _, ...found } = reached; // whose file it is says the table
      return found;
    },
  };
}

/** Any shape that is in use. */
export const ANY_SHAPE: Layout = {
  label: "any",
  reach: (document) => reachAnyShape(document, "mcpServers"),
};

/** The servers of one project in Claude Code's own file. */
export const CLAUDE_PROJECTS: Layout = {
  label: "projects[folder].mcpServers",
  reach: ({ value }, projectFolders) => {
    const path = findClaudeProject(value, projectFolders);
    return (
      (path === undefined ? undefined : reachFirst(value, [[...path, "mcpServers"]])) ?? { kind: "nothing" }
    );
  },
};

/** The way to what Claude Code keeps for the nearest folder of the project. */
export function findClaudeProject(value: unknown, projectFolders: readonly string[]): string[] | undefined {
  const projects = valueAt(value, ["projects"]);
  if (!isObject(projects)) return undefined;
  const keys = Object.keys(projects);
  for (const folder of projectFolders) {
    const key = keys.find((known) => comparable(known) === comparable(folder));
    if (key !== undefined) return ["projects", key];
  }
  return undefined;
}

function comparable(folder: string): string {
  const plain = withoutLastSlashes(folder.replaceAll("\\", "/"));
  return /^[A-Za-z]:/.test(plain) ? plain.toLowerCase() : plain; // Windows knows no case
}

/** opencode 1 has servers in `mcp`, opencode 2 in `mcp.servers`; a server may be called `servers`. */
export const OPENCODE_LAYOUT: Layout = {
  label: "mcp or mcp.servers",
  reach: ({ value }) => reachOpencode(value) ?? { kind: "nothing" },
};

function reachOpencode(value: unknown): Reached | undefined {
  const inner = valueAt(value, ["mcp", "servers"]);
  return isObject(inner) && !looksLikeServer(inner) && !isToggle(inner)
    ? reachFirst(value, [["mcp", "servers"]])
    : reachFirst(value, [["mcp"]]);
}

/** Keys that tell whose file it is where nobody says so. */
const KNOWN_KEYS: readonly { readonly path: readonly string[]; readonly dialect: Dialect }[] = [
  { path: ["mcpServers"], dialect: GENERIC },
  { path: ["mcp_servers"], dialect: GENERIC },
  { path: ["servers"], dialect: { ...GENERIC, typeHttp: VSCODE.typeHttp } },
  { path: ["context_servers"], dialect: LITERAL },
  { path: ["amp.mcpServers"], dialect: GENERIC },
  { path: ["customizations", "vscode", "mcp", "servers"], dialect: VSCODE },
];

function reachAnyShape(document: ConfigDocument, expectedKey: string): Reached {
  const { value, file } = document;
  const codex = extname(file) === ".toml" ? reachFirst(value, [["mcp_servers"]]) : undefined;
  if (codex !== undefined) return withDialect(codex, LITERAL);
  for (const { path, dialect } of KNOWN_KEYS) {
    const reached = reachFirst(value, [path]);
    if (reached !== undefined) return withDialect(reached, dialect);
  }
  if (valueAt(value, ["mcp"]) !== undefined) {
    const reached = reachOpencode(value);
    const isCrush = JSON.stringify(valueAt(value, ["$schema"]) ?? "").includes("crush");
    if (reached !== undefined) return withDialect(reached, isCrush ? CRUSH : OPENCODE);
  }
  const extensions = valueAt(value, ["extensions"]);
  if (isObject(extensions) && Object.values(extensions).some(looksLikeServer))
    return withDialect(entriesOf(extensions, ["extensions"]), GOOSE);
  if (looksLikeServer(value)) {
    const name = isObject(value) && typeof value["name"] === "string" ? value["name"] : undefined;
    const key = name ?? basename(file, extname(file));
    return { kind: "entries", entries: [{ key, path: [], value }], path: [] };
  }
  if (Array.isArray(value) && value.some(looksLikeServer)) return entriesOf(value, []);
  if (isObject(value) && Object.values(value).some(looksLikeServer)) {
    const entries = Object.entries(value).filter(([, entry]) => looksLikeServer(entry) || isToggle(entry));
    return {
      kind: "entries",
      entries: entries.map(([key, entry]) => ({ key, path: [key], value: entry })),
      path: [],
    };
  }
  if (isObject(value) && Object.keys(value).length === 0) return { kind: "nothing" };
  const message = `has no "${expectedKey}": expected {"${expectedKey}": {"name": {…}}}`;
  return { kind: "fault", path: [], message };
}

function withDialect(reached: Reached, dialect: Dialect): Reached {
  return reached.kind === "entries" ? { ...reached, dialect } : reached;
}

/** `undefined` where no path leads to anything. */
function reachFirst(value: unknown, paths: readonly (readonly string[])[]): Reached | undefined {
  const path = paths.find((candidate) => valueAt(value, candidate) !== undefined);
  if (path === undefined) return undefined;
  const found = valueAt(value, path);
  if (found === null) return { kind: "nothing" };
  if (isObject(found) || Array.isArray(found)) return entriesOf(found, path);
  return { kind: "fault", path, message: "expected an object in braces" };
}

/** In a list, every server says its name itself. */
function entriesOf(found: Readonly<Record<string, unknown>> | readonly unknown[], path: ValuePath): Reached {
  if (!Array.isArray(found)) {
    const entries = Object.entries(found).map(([key, value]) => ({ key, path: [...path, key], value }));
    return { kind: "entries", entries, path };
  }
  const entries = found.map((value: unknown, index) => {
    const name = isObject(value) ? (value["name"] ?? value["id"]) : undefined;
    return { key: typeof name === "string" ? name : "", path: [...path, index], value };
  });
  return { kind: "entries", entries, path };
}

function looksLikeServer(value: unknown): boolean {
  if (!isObject(value)) return false;
  const command = value["command"] ?? value["cmd"];
  const url = value["url"] ?? value["httpUrl"] ?? value["serverUrl"] ?? value["baseUrl"] ?? value["uri"];
  return typeof command === "string" || Array.isArray(command) || typeof url === "string";
}

function isToggle(value: unknown): boolean {
  return isObject(value) && (typeof value["enabled"] === "boolean" || typeof value["disabled"] === "boolean");
}

function renderLabel(path: readonly string[]): string {
  return path.map((key) => (key.includes(".") ? `"${key}"` : key)).join(".");
}
