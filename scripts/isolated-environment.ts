import { existsSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** They would lead the bridge, and what it keeps, into the real home. */
const OWN_FOLDERS = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];

/**
 * Our environment with another home, in which the bridge neither finds the user's servers nor writes into their files. An
 * engine keeps images and settings in the real home: it is told where they are.
 */
export function isolatedEnvironment(home: string): Record<string, string> {
  const given = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const env: Record<string, string> = Object.fromEntries(given);
  const docker = join(homedir(), ".docker");
  if (existsSync(join(docker, "config.json"))) env["DOCKER_CONFIG"] ??= docker;
  if (process.platform === "linux") {
    const settings = join(env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config"), "containers/containers.conf");
    if (existsSync(settings)) env["CONTAINERS_CONF_OVERRIDE"] ??= settings;
    const storage = process.getuid?.() === 0 ? undefined : writeStorageFile(home, env);
    if (storage !== undefined) env["CONTAINERS_STORAGE_CONF"] = storage;
    for (const name of OWN_FOLDERS) delete env[name];
  } else {
    const config = join(homedir(), ".config"); // where podman keeps its way to its machine
    if (existsSync(config)) env["XDG_CONFIG_HOME"] ??= config;
  }
  return { ...env, HOME: home };
}

/**
 * Writes a file for `CONTAINERS_STORAGE_CONF` that says where this user's images are, as rootless podman looks below the
 * home; `undefined` where there is no podman that says it. `env` has the real home.
 */
export function writeStorageFile(folder: string, env: Environment): string | undefined {
  const template = "{{.Store.GraphDriverName}}\n{{.Store.GraphRoot}}\n{{.Store.RunRoot}}";
  if (Bun.which("podman", { PATH: env["PATH"] ?? "" }) === null) return undefined;
  const { stdout, success } = Bun.spawnSync(["podman", "info", "--format", template], { env: { ...env } });
  const [driver, graphRoot, runRoot] = stdout.toString().trim().split("\n");
  if (!success || graphRoot === undefined) return undefined;
  // Older versions take the second name of the same thing alone.
  const settings = { driver, graphroot: graphRoot, rootless_storage_path: graphRoot, runroot: runRoot };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  const file = join(folder, "storage.conf");
  writeFileSync(file, `[storage]\n${lines.join("")}`);
  return file;
}
