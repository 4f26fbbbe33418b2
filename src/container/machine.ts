import { constants } from "node:fs";
import { access, readdir, readFile, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";

type Env = Readonly<Record<string, string>>;

/** Where engines look for OCI runtimes beside the PATH, which for ordinary users often lacks the sbin folders. */
const SYSTEM_FOLDERS = [
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/usr/local/sbin",
  "/bin",
  "/sbin",
  "/run/current-system/sw/bin",
];
const OCI_RUNTIMES = ["runc", "crun"];
/** One by one a long PATH takes as long as all else before the first container begins. */
const LOOKS_AT_ONCE = 8;

/** Variables that change what podman is and how it works. */
const PODMAN_VARIABLES = [
  "CONTAINERS_CONF",
  "CONTAINERS_CONF_OVERRIDE",
  "CONTAINERS_STORAGE_CONF",
  "CONTAINER_CONNECTION",
  "CONTAINER_HOST",
  "DBUS_SESSION_BUS_ADDRESS",
  "HOME",
  "PATH",
  "XDG_CONFIG_HOME",
  "XDG_RUNTIME_DIR",
];

/** The absolute path of a program on the PATH of `env`; `undefined` when there is none. */
export async function findProgram(name: string, env: Env): Promise<string | undefined> {
  return findIn(name, (env["PATH"] ?? "").split(delimiter));
}

/** The same, also where the system keeps what is no command for users. */
export async function findSystemProgram(name: string, env: Env): Promise<string | undefined> {
  return findIn(name, [...(env["PATH"] ?? "").split(delimiter), ...SYSTEM_FOLDERS]);
}

/** The OCI runtimes of the ordinary kind (containers, not virtual machines) that this machine has: name → path. */
export async function findOciRuntimes(env: Env): Promise<ReadonlyMap<string, string>> {
  const paths = await Promise.all(OCI_RUNTIMES.map((name) => findSystemProgram(name, env)));
  return new Map(
    OCI_RUNTIMES.flatMap((name, index) => {
      const path = paths[index];
      return path === undefined ? [] : [[name, path] as const];
    }),
  );
}

/** Podman's configuration files that exist, in the order in which they are read. */
export async function findContainersConf(env: Env): Promise<string[]> {
  const own = env["CONTAINERS_CONF"];
  const override = env["CONTAINERS_CONF_OVERRIDE"];
  const home = env["XDG_CONFIG_HOME"] ?? join(env["HOME"] ?? "/", ".config");
  const folders = ["/usr/share/containers", "/etc/containers", join(home, "containers")];
  const candidates = own === undefined ? (await Promise.all(folders.map(confFilesOf))).flat() : [own];
  if (override !== undefined) candidates.push(override);
  const stamps = await Promise.all(candidates.map(stampOf));
  return candidates.filter((_, index) => stamps[index] !== undefined);
}

/** The OCI runtime that the configuration files choose, of which later ones count more; `undefined` for none. */
export async function findChosenRuntime(files: readonly string[]): Promise<string | undefined> {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => ""))); // podman will say it
  return texts
    .flatMap((text) => text.match(/^\s*runtime\s*=.*/gm) ?? [])
    .at(-1)
    ?.match(/=\s*["']?([^"'#]*)/)?.[1]
    ?.trim();
}

/** Whether this is one of the ordinary kind, by its name or path; both hand descriptors to what they start. */
export function isOrdinaryRuntime(name: string): boolean {
  return OCI_RUNTIMES.includes(basename(name));
}

/**
 * A text that changes when podman might behave differently: another binary, configuration, runtime, user or boot,
 * other variables, other cgroup controllers. What was learnt about podman holds as long as this is the same.
 */
export async function stampPodman(
  executable: string,
  env: Env,
  confFiles: readonly string[],
  runtimes: ReadonlyMap<string, string>,
): Promise<string> {
  const uid = process.geteuid?.() ?? -1;
  const files = [executable, ...confFiles, ...runtimes.values()];
  const [boot, controllers, ...stamps] = await Promise.all([
    readText("/proc/sys/kernel/random/boot_id"),
    readText(`/sys/fs/cgroup/user.slice/user-${uid}.slice/user@${uid}.service/cgroup.controllers`),
    ...files.map(stampOf),
  ]);
  const variables = PODMAN_VARIABLES.map((name) => env[name] ?? null);
  return JSON.stringify([
    uid,
    boot,
    controllers,
    variables,
    files.map((file, index) => [file, stamps[index]]),
  ]);
}

async function confFilesOf(folder: string): Promise<string[]> {
  const extra = join(folder, "containers.conf.d");
  const names = await readdir(extra).catch(() => []); // the folder is optional
  const extras = names.filter((name) => name.endsWith(".conf")).sort();
  return [join(folder, "containers.conf"), ...extras.map((name) => join(extra, name))];
}

async function findIn(name: string, folders: readonly string[]): Promise<string | undefined> {
  // A relative entry would run what happens to lie in the current folder.
  const paths = [...new Set(folders)]
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name));
  for (let at = 0; at < paths.length; at += LOOKS_AT_ONCE) {
    const some = paths.slice(at, at + LOOKS_AT_ONCE);
    const found = await Promise.all(some.map(isProgram));
    const first = some.find((_, index) => found[index]);
    if (first !== undefined) return first;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // absent, or not for us
  }
}

async function stampOf(path: string): Promise<string | undefined> {
  return stat(path).then(
    ({ size, mtimeMs, ino }) => `${size} ${mtimeMs} ${ino}`,
    () => undefined, // absent
  );
}

function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => ""); // not Linux, or no such slice
}
