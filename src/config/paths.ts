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

/** Makes a path from a setting absolute: `~` and `~/…` are the home, anything relative starts at the working directory. */
export function resolveUserPath(path: string, homeDir: string): string {
  return path === "~" || path.startsWith("~/") ? join(homeDir, path.slice(1)) : resolve(path);
}
