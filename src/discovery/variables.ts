import { realpathSync } from "node:fs";
import { basename, isAbsolute, parse, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import type { Dialect } from "./dialects.ts";
import { readSmallFile } from "./small-file.ts";

const MAX_NESTING = 8;

/** What the variables of one file may stand for. */
export interface VariableScope {
  readonly config: Config;
  readonly dialect: Dialect;
  /** The folder of the file: paths in `{file:…}` start there. */
  readonly fileFolder: string;
  /** What `${workspaceFolder}` is; `undefined` where there is no project. */
  readonly workspaceFolder: string | undefined;
  /** Descriptions of the file's `inputs` by their ids. */
  readonly inputs: ReadonlyMap<string, string>;
  readonly budget: FillBudget;
  /** Variables stay as they are written, and only the contents of files are filled in. */
  readonly isVerbatim?: boolean;
}

/** What may be filled in for all servers together: few words of a hostile file could ask for gigabytes. */
export interface FillBudget {
  /** Whether a value may be taken from this file, which may not exist. */
  takeFile(path: string): boolean;
  /** Whether a value of this length may be filled in. */
  takeChars(length: number): boolean;
}

/** Values of one server with their variables filled in, and what is missing for it. */
export interface Expander {
  /**
   * Fills in the variables; what cannot be filled in stays as it is and is noted in {@link needs}. `slot` says what the
   * text is for, such as `header authorization`: what it refers to is noted in {@link sources} then.
   */
  expand(text: string, slot?: string): string;
  /** The value of an environment variable; one that is not set is noted. */
  variable(name: string, slot?: string): string | undefined;
  /** The text of a small file; `undefined` where it cannot be read. */
  readFile(path: string, slot?: string): string | undefined;
  /** Notes in {@link needs} what only the user can give, and whether it is an environment variable. */
  need(what: string, kind?: "variable"): void;
  /** Notes in {@link sources} what a slot takes its value from. */
  note(slot: string, what: string): void;
  readonly needs: readonly string[];
  /** Whether setting environment variables gives all of them. */
  readonly needsVariablesAlone: boolean;
  /**
   * What slots take their values from, such as `header authorization: variable TOKEN`; of a verbatim scope only. It is
   * the same whatever is set in the environment. Files are named without symbolic links.
   */
  readonly sources: readonly string[];
}

/** Lengths are bounded, so that a hostile text of openings without an end takes no long time. */
const TOKENS =
  /\$\{\{(?<secret>[^{}]{0,1000})\}\}|\$\{(?<braced>(?:[^{}]|\{[^{}]{0,1000}\}){0,1000})\}|(?<!\$)\{(?<kind>env|file):(?<curly>[^{}]{1,1000})\}|\$env:(?<dollarEnv>[A-Za-z_]\w*)|\$(?<bare>[A-Za-z_]\w*)|%(?<percent>[A-Za-z_]\w*)%/g;

/** What the variables of a server stand for. Values are put in as they are: nothing in them is expanded again. */
export function createExpander(scope: VariableScope): Expander {
  const needs = new Set<string>();
  let needsVariablesAlone = true;
  const need = (what: string, kind?: "variable") => {
    needs.add(what);
    needsVariablesAlone &&= kind === "variable";
  };
  const sources = new Set<string>();
  const note = (slot: string | undefined, what: string) => {
    if (scope.isVerbatim && slot !== undefined) sources.add(`${slot}: ${what}`);
  };
  const variable = (name: string, slot: string | undefined) => {
    note(slot, `variable ${name}`);
    if (scope.isVerbatim) return undefined;
    const value = lookUp(name, scope.config);
    if (value === undefined) need(`environment variable ${name}`, "variable");
    return value;
  };
  const forms = scope.dialect.variables;
  const readFile = (path: string, slot: string | undefined) => {
    note(slot, `file ${realFile(path)}`);
    return scope.budget.takeFile(path) ? readSmallFile(path) : undefined;
  };
  const file = (path: string, slot: string | undefined) => {
    const value = readFile(resolveHome(path, scope.config.homeDir, scope.fileFolder), slot);
    if (value === undefined) need(`file ${path}`);
    return value?.trim();
  };
  const expand = (text: string, depth: number, slot: string | undefined): string => {
    if (!/[$%{]/.test(text)) return text;
    return text.replace(TOKENS, (whole, ...rest) => {
      const groups = rest.at(-1) as Partial<Record<string, string>>;
      const offset = rest.at(-3) as number;
      const { secret, braced, kind, curly, dollarEnv, bare, percent } = groups;
      let value: string | undefined;
      if (secret !== undefined) {
        value = forms.has("secrets") ? secretOf(secret, slot) : undefined;
      } else if (braced !== undefined) {
        value = expandBraced(braced, depth, slot);
      } else if (curly !== undefined && forms.has("curly")) {
        value = kind === "env" ? variable(curly.trim(), slot) : file(curly.trim(), slot);
      } else if (dollarEnv !== undefined && forms.has("dollar-env")) {
        value = variable(dollarEnv, slot);
      } else if (bare !== undefined) {
        const isLeading = offset === 0 && /^[\\/]?$/.test(text.charAt(whole.length));
        if (forms.has("dollar") || (forms.has("leading-dollar") && isLeading)) value = variable(bare, slot);
      } else if (percent !== undefined && forms.has("percent")) {
        value = variable(percent, slot);
      }
      if (value === undefined) return whole;
      if (scope.budget.takeChars(value.length)) return value;
      need("fewer or shorter values of variables: there are too many in these files");
      return whole;
    });
  };
  const secretOf = (path: string, slot: string | undefined) =>
    variable(path.split(".").at(-1)?.trim() ?? path, slot);
  const expandBraced = (body: string, depth: number, slot: string | undefined): string | undefined => {
    if (scope.isVerbatim && !body.startsWith("file:")) {
      note(slot, `\${${body}}`); // whole: what stands behind `:-` may refer to more
      return undefined;
    }
    const [, prefix = "", id = ""] = /^(env|file|input|command|config):(.*)$/s.exec(body) ?? [];
    if (prefix === "env") return forms.has("env") ? variable(id.trim(), slot) : undefined;
    if (prefix === "file") return forms.has("file") ? file(id, slot) : undefined;
    if (prefix !== "") {
      if (forms.has("inputs")) need(describeInput(prefix, id, scope.inputs));
      return undefined;
    }
    if (forms.has("editor")) {
      const known = editorVariable(body, scope, need);
      if (known !== undefined) return known;
    }
    const [, name, fallback] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(body) ?? [];
    if (name === undefined || !forms.has("braces")) return undefined;
    if (fallback === undefined) return variable(name, slot);
    // As in a shell, an empty value counts as none here.
    const value = lookUp(name, scope.config) ?? "";
    if (value !== "") return value;
    return depth < MAX_NESTING ? expand(fallback, depth + 1, slot) : fallback;
  };
  return {
    expand: (text, slot) => expand(text, 0, slot),
    variable: (name, slot) => {
      const value = variable(name, slot);
      return scope.isVerbatim ? "" : value;
    },
    readFile,
    need,
    note,
    get needsVariablesAlone() {
      return needsVariablesAlone;
    },
    get needs() {
      return [...needs];
    },
    get sources() {
      return [...sources].sort();
    },
  };
}

/** A file of the project may become a link to one of the user's. */
function realFile(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it is missing, or not ours to see: then nothing is taken from it
  }
}

/** Names of variables have no case on Windows. A home is known even where nobody set it. */
function lookUp(name: string, { env, homeDir, platform }: Config): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  if (platform === "win32") {
    const key = Object.keys(env).find((known) => known.toLowerCase() === name.toLowerCase());
    if (key !== undefined) return env[key];
  }
  return name === "HOME" || name === "USERPROFILE" ? homeDir : undefined;
}

function editorVariable(
  body: string,
  { config, workspaceFolder }: VariableScope,
  need: (what: string) => void,
): string | undefined {
  switch (body.replace(/^(workspaceFolder|workspaceRoot):.*$/s, "$1")) {
    case "userHome":
      return config.homeDir;
    case "pathSeparator":
    case "/":
      return sep;
    case "workspaceFolder":
    case "workspaceRoot":
    case "cwd":
      if (workspaceFolder === undefined) need(`a project folder for "\${${body}}"`);
      return workspaceFolder;
    case "workspaceFolderBasename":
    case "workspaceRootFolderName":
      if (workspaceFolder === undefined) need(`a project folder for "\${${body}}"`);
      return workspaceFolder === undefined ? undefined : basename(workspaceFolder);
    default:
      return undefined;
  }
}

function describeInput(kind: string, id: string, inputs: ReadonlyMap<string, string>): string {
  return kind === "input"
    ? `an answer to the prompt ${JSON.stringify(inputs.get(id) ?? id)}`
    : `a value of "\${${kind}:${id}}" that only the editor knows`;
}

/** `~` is the home, a relative path starts at `folder`; what is absolute on any system stays as it is. */
export function resolveHome(path: string, homeDir: string, folder: string): string {
  if (path === "~" || /^~[\\/]/.test(path)) return `${homeDir}${path.slice(1)}`;
  return isAbsolute(path) || isWindowsPath(path) ? path : resolve(folder, path);
}

/** `C:\…`, `C:/…` or `\\host\…`. */
export function isWindowsPath(path: string): boolean {
  return /^([A-Za-z]:[\\/]|\\\\)/.test(path);
}

/** The project that variables mean: none where the bridge was started by a desktop program, in the home or the root. */
export function workspaceOf({ projectDir, homeDir }: Config): string | undefined {
  return projectDir === homeDir || projectDir === parse(projectDir).root ? undefined : projectDir;
}
