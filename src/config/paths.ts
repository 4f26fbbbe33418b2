import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The user's home: `HOME` where it is an absolute path, else what the system says. */
export function resolveHomeDir(env: Environment): string {
  const home = env["HOME"];
  return home !== undefined && isAbsolute(home) ? home : homedir();
}

/** Where a state directory is when `MCP_BRIDGE_STATE_DIR` is not set. */
export function defaultStateDir(homeDir: string): string {
  return join(homeDir, "MCPs");
}

/** Makes a path from a setting absolute: `~` and `~/…` are the home, anything relative starts at `folder`. */
export function resolveUserPath(path: string, homeDir: string, folder = process.cwd()): string {
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
