import { access, readdir, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import type { Origin } from "./server-definition.ts";

/** No folder of servers has so many files; one that has is no such folder. */
const MAX_FILES_PER_PATTERN = 500;
const MAX_PROJECT_DEPTH = 64;

/** What paths depend on. */
export interface Places {
  readonly config: Config;
  /** Every folder that was listed for a `*`: a file in it may come and go. */
  readonly listed: Set<string>;
  /** From the project's folder up to the root of its Git repository; empty where that would be the home or beyond. */
  readonly projectFolders: readonly string[];
}

/** One file that may exist, and whose it is. */
export interface Place {
  readonly file: string;
  readonly scope: Origin["scope"];
  /** The project's folder, for scope `project`. */
  readonly folder: string | undefined;
}

/** Told of a folder that cannot be listed, or not all of it. */
export type ReportFolder = (folder: string, message: string) => void;

/** A path for each platform; one that is missing has no such file. */
export type PathPattern = string | Readonly<Partial<Record<"linux" | "darwin" | "win32", string>>>;

/** Finds out what belongs to the project that the bridge runs in. */
export async function loadPlaces(config: Config): Promise<Places> {
  return { config, listed: new Set(), projectFolders: await listProjectFolders(config) };
}

async function listProjectFolders({ projectDir, homeDir }: Config): Promise<readonly string[]> {
  const home = await realpath(homeDir).catch(() => homeDir);
  const folders: string[] = [];
  for (let folder = projectDir; folders.length < MAX_PROJECT_DEPTH; folder = dirname(folder)) {
    const isHome = (await realpath(folder).catch(() => folder)) === home;
    if (isHome && folders.length > 0) break; // a home that is a repository does not make projects of its folders
    folders.push(folder);
    if (await exists(join(folder, ".git"))) return folders;
    if (isHome || folder === parse(folder).root) break;
  }
  return [projectDir];
}

/**
 * The files that a pattern stands for, in order of precedence. A pattern begins with one of these:
 *
 * - `./` each folder of the project, the nearest first; scope `project`
 * - `~/` the home
 * - `<config>/` where programs keep settings: `$XDG_CONFIG_HOME` or `~/.config`, `~/Library/Application Support`, `%APPDATA%`
 * - `<data>/` the same for data: `$XDG_DATA_HOME` or `~/.local/share`, `~/Library/Application Support`, `%APPDATA%`
 * - `<xdg>/` `$XDG_CONFIG_HOME` or `~/.config`, on every system
 * - `<local>/` `%LOCALAPPDATA%`, on Windows
 * - `<state>/` the folder of `MCP_BRIDGE_STATE_DIR`
 * - `${VARIABLE:-pattern}` the value of a variable, or another pattern; `${VARIABLE}` nothing where it is not set
 * - `/` or a drive: a path of the system; scope `system`
 *
 * `{a,b}` are alternatives, `*` is anything within a name. Files need not exist, unless a `*` found them.
 */
export async function locate(
  pattern: PathPattern,
  places: Places,
  report: ReportFolder,
): Promise<readonly Place[]> {
  const text = typeof pattern === "string" ? pattern : pattern[platformOf(places.config)];
  if (text === undefined) return [];
  const found = await Promise.all(
    expandBraces(text).map((alternative) => locateOne(alternative, places, report)),
  );
  return found.flat();
}

async function locateOne(pattern: string, places: Places, report: ReportFolder): Promise<readonly Place[]> {
  const path = substituteVariables(pattern, places.config);
  if (path === undefined) return [];
  if (path.startsWith("./")) {
    const found = await Promise.all(
      places.projectFolders.map(async (folder) =>
        (await glob(join(folder, path), places, report)).map((file) => ({
          file,
          scope: "project" as const,
          folder,
        })),
      ),
    );
    return found.flat();
  }
  const base = resolveBase(path, places.config);
  if (base === undefined) return [];
  const files = await glob(base, places, report);
  const folder = projectNamedBy(pattern, base, places);
  if (folder !== undefined) return files.map((file) => ({ file, scope: "project", folder }));
  const scope = /^(\$\{\w+:-)?(\/|[A-Z]:)/.test(pattern) ? "system" : "user";
  return files.map((file) => ({ file, scope, folder: undefined }));
}

/**
 * The project in which a file lies that somebody named in a variable, such as a relative path that is set for good:
 * whoever wrote the project wrote that file.
 */
function projectNamedBy(
  pattern: string,
  path: string,
  { config: { env, homeDir }, projectFolders }: Places,
): string | undefined {
  const name = /^\$\{(\w+)/.exec(pattern)?.[1];
  if (name === undefined || !Object.hasOwn(env, name) || env[name] === "") return undefined;
  return projectFolders.find((folder) => folder !== homeDir && path.startsWith(join(folder, sep)));
}

/** `undefined` where a variable without a default is not set. */
function substituteVariables(
  pattern: string,
  { env, homeDir, projectDir, systemRoot }: Config,
): string | undefined {
  const rooted = (path: string) => (path.startsWith("/") ? join(systemRoot, path) : path);
  const match = /^\$\{(\w+)(?::-(.*?))?\}(?=\/|$)(.*)$/.exec(pattern);
  if (match === null) return rooted(pattern);
  const [, name = "", fallback, rest] = match;
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined && value !== "") return resolveSetting(`${value}${rest}`, homeDir, projectDir);
  return fallback === undefined ? undefined : rooted(`${fallback}${rest}`);
}

/** A path as somebody set it in the environment: what is relative starts where the program was started. */
function resolveSetting(path: string, homeDir: string, projectDir: string): string {
  if (/^[A-Za-z]:[\\/]/.test(path)) return path;
  return path === "~" || path.startsWith("~/") ? join(homeDir, path.slice(1)) : resolve(projectDir, path);
}

function resolveBase(path: string, { homeDir, stateDir, env, ...config }: Config): string | undefined {
  const folder = (name: string, ...fallback: readonly string[]) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value !== undefined && (isAbsolute(value) || /^[A-Za-z]:[\\/]/.test(value))
      ? value
      : join(homeDir, ...fallback);
  };
  const platform = platformOf(config);
  const xdg = folder("XDG_CONFIG_HOME", ".config");
  const support = join(homeDir, "Library", "Application Support");
  const roaming = platform === "win32" ? folder("APPDATA", "AppData", "Roaming") : "";
  const bases: Readonly<Record<string, string | undefined>> = {
    "~": homeDir,
    "<state>": stateDir,
    "<xdg>": xdg,
    "<config>": { linux: xdg, darwin: support, win32: roaming }[platform],
    "<data>": { linux: folder("XDG_DATA_HOME", ".local", "share"), darwin: support, win32: roaming }[
      platform
    ],
    "<local>": platform === "win32" ? folder("LOCALAPPDATA", "AppData", "Local") : undefined,
  };
  const [first = "", ...rest] = path.split("/");
  if (first in bases) {
    const base = bases[first];
    return base === undefined ? undefined : join(base, ...rest);
  }
  return isAbsolute(path) || /^[A-Za-z]:/.test(path) ? path : join(homeDir, path);
}

/** Every system that is neither macOS nor Windows keeps its files as Linux does. */
function platformOf({ platform }: Pick<Config, "platform">): "linux" | "darwin" | "win32" {
  return platform === "darwin" || platform === "win32" ? platform : "linux";
}

function expandBraces(pattern: string): readonly string[] {
  const match = /^(.*?)(?<!\$)\{([^{}]*)\}(.*)$/.exec(pattern);
  if (match === null) return [pattern];
  const [, before = "", choices = "", after = ""] = match;
  return choices.split(",").flatMap((choice) => expandBraces(`${before}${choice}${after}`));
}

/** The files that a path with `*` matches, sorted; a path without is taken as it is, whether it exists or not. */
async function glob(path: string, places: Places, report: ReportFolder): Promise<readonly string[]> {
  const parts = path.split(/(?<=.)[\\/]/);
  const star = parts.findIndex((part) => part.includes("*"));
  if (star === -1) return [path];
  const folder = parts.slice(0, star).join("/") || "/";
  places.listed.add(folder);
  const pattern = globPattern(parts[star] ?? "");
  const names = (await listFolder(folder, report)).filter((name) => pattern.test(name)).sort();
  const rest = parts.slice(star + 1);
  const matches = await Promise.all(
    names
      .slice(0, MAX_FILES_PER_PATTERN)
      .map((name) => glob([folder, name, ...rest].join("/"), places, report)),
  );
  const files = matches.flat();
  if (names.length > MAX_FILES_PER_PATTERN || files.length > MAX_FILES_PER_PATTERN) {
    report(folder, `has too many files: only the first ${MAX_FILES_PER_PATTERN} are read`);
  }
  return files.slice(0, MAX_FILES_PER_PATTERN);
}

/** Names that begin with a dot are matched by a dot only. */
function globPattern(pattern: string): RegExp {
  const source = pattern.replace(/[.+^$()|[\]\\?{}]/g, "\\$&").replaceAll("*", "[^/\\\\]*");
  return new RegExp(`^${pattern.startsWith("*") ? "(?!\\.)" : ""}${source}$`);
}

async function listFolder(folder: string, report: ReportFolder): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.code === "ENOTDIR" ? "it is not a folder: expected one with configuration files" : error.message;
    if (error.code !== "ENOENT") report(folder, `cannot be listed: ${reason}`);
    return [];
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
