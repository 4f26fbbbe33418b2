import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { BridgeError } from "../core/errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The user's home: `HOME`, or what the system says where that is not set. Throws `CONFIG_INVALID` where neither is an
 * absolute path: what is kept would be in another place with each folder in which Sandpy starts.
 */
export function resolveHomeDir(env: Environment): string {
  const home = env["HOME"] || askSystem();
  if (home !== undefined && isAbsolute(home)) return home;
  const message =
    home === undefined
      ? "HOME is not set, and the system knows no home of this user"
      : `HOME is ${JSON.stringify(home)}: expected an absolute path`;
  throw new BridgeError("CONFIG_INVALID", message, { hint: "Set HOME to a folder of yours." });
}

function askSystem(): string | undefined {
  try {
    return homedir() || undefined;
  } catch {
    return undefined; // a user without an entry, as in some containers
  }
}

/** The folder in which Sandpy was started. Throws `CONFIG_INVALID` where that has been removed. */
export function currentDir(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new BridgeError(
      "CONFIG_INVALID",
      "the folder in which sandpy was started does not exist any more",
      {
        hint: "Change to another folder, then start it again.",
        cause,
      },
    );
  }
}

/** Where a state directory is when `MCP_BRIDGE_STATE_DIR` is not set. */
export function defaultStateDir(homeDir: string): string {
  return join(homeDir, "MCPs");
}

/** Makes a path from a setting absolute: `~` and `~/…` are the home, anything relative starts at `folder`. */
export function resolveUserPath(path: string, homeDir: string, folder = currentDir()): string {
  return path === "~" || path.startsWith("~/") ? join(homeDir, path.slice(1)) : resolve(folder, path);
}

/**
 * The folders `sandpy` by the conventions of the system: the XDG base directories, `~/Library` on macOS, `%APPDATA%`
 * and `%LOCALAPPDATA%` on Windows. A variable that is not an absolute path counts as not set, as the XDG rules say.
 */
export function resolveOwnFolders(
  env: Environment,
  homeDir: string,
  platform: NodeJS.Platform,
): { readonly configDir: string; readonly dataDir: string; readonly cacheDir: string } {
  const folder = (variable: string, ...fallback: readonly string[]) => {
    const value = env[variable];
    return join(value !== undefined && isAbsolute(value) ? value : join(homeDir, ...fallback), "sandpy");
  };
  if (platform === "win32") {
    const local = folder("LOCALAPPDATA", "AppData", "Local");
    return {
      configDir: folder("APPDATA", "AppData", "Roaming"),
      dataDir: local,
      cacheDir: join(local, "Cache"),
    };
  }
  const isMac = platform === "darwin";
  return {
    configDir: folder("XDG_CONFIG_HOME", ".config"),
    dataDir: folder("XDG_DATA_HOME", ...(isMac ? ["Library", "Application Support"] : [".local", "share"])),
    cacheDir: folder("XDG_CACHE_HOME", ...(isMac ? ["Library", "Caches"] : [".cache"])),
  };
}
