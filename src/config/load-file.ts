import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { devNull } from "node:os";
import { dirname, join } from "node:path";
import { BridgeError } from "../core/errors.ts";
import { shortenHome } from "../core/home-path.ts";
import type { Config } from "./config.ts";
import type { SettingsFile } from "./given.ts";
import { type ConfigOverrides, loadConfig } from "./load.ts";
import { resolveHomeDir, resolveOwnFolders, resolveUserPath } from "./paths.ts";

const FILE_NAME = "config.jsonc";
const MAX_BYTES = 1024 ** 2;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The bridge's settings: overrides, then `env`, then the configuration file, then defaults. The file is the one that
 * `MCP_BRIDGE_CONFIG` names, which must exist, or `config.jsonc` in our folder, which may be missing. One that is there
 * counts: it may hold a policy, so if it cannot be read or understood nothing starts. `/dev/null` stands for none. Throws
 * `CONFIG_INVALID`.
 */
export async function loadSettings(env: Environment, overrides: ConfigOverrides = {}): Promise<Config> {
  return loadConfig(env, overrides, await readSettingsFile(env, overrides));
}

/** The configuration file that counts, whether it exists or not. */
export interface SettingsPlace {
  /** Absolute; `undefined` where somebody wants none. */
  readonly path: string | undefined;
  /** Somebody named it, so it must exist. */
  readonly isNamed: boolean;
}

export function findSettingsFile(env: Environment, overrides: ConfigOverrides = {}): SettingsPlace {
  const homeDir = resolveHomeDir(env);
  const named = overrides.MCP_BRIDGE_CONFIG?.trim() || env["MCP_BRIDGE_CONFIG"]?.trim() || undefined;
  const { configDir } = resolveOwnFolders(env, homeDir, process.platform);
  const path = named === undefined ? join(configDir, FILE_NAME) : resolveUserPath(named, homeDir);
  return { path: path === devNull ? undefined : path, isNamed: named !== undefined };
}

/** What the configuration file says; `undefined` where there is none. Throws `CONFIG_INVALID`. */
export async function readSettingsFile(
  env: Environment,
  overrides: ConfigOverrides,
): Promise<SettingsFile | undefined> {
  const homeDir = resolveHomeDir(env);
  const { path, isNamed } = findSettingsFile(env, overrides);
  const text = path === undefined ? undefined : await readText(path, isNamed);
  if (path === undefined || text === undefined) return undefined;
  const shown = shortenHome(path, homeDir);
  const { parseSettings } = await import("./settings-file.ts"); // most have no file, and start without the parser
  return { shown, folder: dirname(path), ...parseSettings(shown, text) };
}

async function readText(path: string, mustExist: boolean): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // no wait for a pipe's writer
    const stats = await file.stat();
    if (!stats.isFile()) throw unreadable(path, "is not a file");
    if (stats.size > MAX_BYTES) throw unreadable(path, `has more than ${MAX_BYTES} bytes`);
    return await file.readFile("utf8");
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    if (isMissing && !mustExist) return undefined;
    throw unreadable(path, isMissing ? "does not exist" : `cannot be read (${code ?? String(error)})`);
  }
}

function unreadable(path: string, why: string): BridgeError {
  return new BridgeError("CONFIG_INVALID", `the configuration file ${JSON.stringify(path)} ${why}`, {
    hint: `Correct that, or name another file with MCP_BRIDGE_CONFIG, or ${devNull} for none.`,
  });
}
