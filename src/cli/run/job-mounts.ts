import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import type { Config, Mount } from "../../config/config.ts";
import { usage } from "../arguments.ts";

const MAX_MOUNTS = 32;
/** Of the system in the sandbox, or ours: nothing may stand there or below. */
const TAKEN = [
  ...["/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/bin", "/sbin", "/boot", "/projects"],
  ...["/lib", "/lib32", "/lib64", "/libx32", "/workspace/out"],
];
/** Nothing may stand there, but below it. */
const COVERED = ["/", "/tmp", "/workspace", "/var"];
/** Of the host: who sees these reaches much more than files. */
const CLOSED = ["/proc", "/sys", "/dev"];
const SOCKETS = ["docker.sock", "podman/podman.sock", "containerd/containerd.sock", "crio/crio.sock"];
/** Below the home folder: where Docker Desktop, Colima, Rancher Desktop and OrbStack listen. */
const HOME_SOCKETS = [
  ...[".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock"],
  ...[".rd/docker.sock", ".orbstack/run/docker.sock"],
];
/** Variables that say where an engine or an agent listens; the prefixes are those of their URLs. */
const SOCKET_VARIABLES = ["DOCKER_HOST", "CONTAINER_HOST", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"];

/**
 * What `--mount HOST:PATH[:ro]` asks for, links in HOST resolved. As with podman and docker it can be written unless `:ro` is
 * said. Throws `USAGE` for what is not there, and for places that would open the host or break the sandbox.
 */
export async function parseMounts(
  given: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Mount[]> {
  if (given.length > MAX_MOUNTS) throw usage(`--mount is given more than ${MAX_MOUNTS} times`);
  const mounts: Mount[] = [];
  for (const text of given) {
    const mount = await parseMount(text, env);
    if (mounts.some(({ target }) => target === mount.target))
      throw usage(`--mount has ${mount.target} for two folders`);
    mounts.push(mount);
  }
  return mounts;
}

async function parseMount(text: string, env: Readonly<Record<string, string | undefined>>): Promise<Mount> {
  const shown = JSON.stringify(text);
  const [, host, path = "", mode] = /^([^:]+):(\/[^:]*)(?::(ro|rw))?$/.exec(text) ?? [];
  if (host === undefined || /\p{Cc}/u.test(text)) {
    throw usage(
      `--mount is ${shown}: expected HOST:PATH or HOST:PATH:ro, PATH absolute, without further colons`,
    );
  }
  const target = posix.normalize(path).replace(/(.)\/+$/, "$1");
  if (COVERED.includes(target) || isBelow(target, TAKEN) || /^\/tmp\/\.sandpy/.test(target)) {
    throw usage(
      `--mount ${shown}: ${target} belongs to the sandbox`,
      "Choose another place, such as /data or /workspace/data.",
    );
  }
  const source = await realpath(resolve(host)).catch(() => undefined);
  if (source === undefined) throw usage(`--mount ${shown}: ${JSON.stringify(host)} does not exist`);
  const facts = await stat(source);
  if (!facts.isDirectory() && !facts.isFile())
    throw usage(`--mount ${shown}: ${JSON.stringify(source)} is neither a folder nor a file`);
  if (source.includes(":"))
    throw usage(`--mount ${shown}: ${JSON.stringify(source)} has a colon in its path`);
  const sockets = await Promise.all(socketsOf(env).map(whereItLeads));
  const socket = sockets.find((each) => isBelow(each, [source]));
  if (source === "/" || isBelow(source, CLOSED) || socket !== undefined) {
    throw usage(
      `--mount ${shown}: ${JSON.stringify(source)} would open more of this machine than its files`,
      "Mount the folder that the job needs, and no other.",
    );
  }
  if (mode === "ro") await checkSubmounts(source, shown);
  return { source, target, isReadOnly: mode === "ro" };
}

/** Where engines and agents listen: who can talk to one of these has the machine, or the user's keys. */
function socketsOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const folders = ["/run", "/var/run", ...(env["XDG_RUNTIME_DIR"] ? [env["XDG_RUNTIME_DIR"]] : [])];
  const home = env["HOME"];
  const told = SOCKET_VARIABLES.map(
    (name) => /^(?:unix:(?:path=|\/\/)?)?(\/[^,;]+)/.exec(env[name] ?? "")?.[1],
  );
  return [
    ...folders.flatMap((folder) => SOCKETS.map((name) => `${folder}/${name}`)),
    ...(home ? HOME_SOCKETS.map((name) => join(home, name)) : []),
    ...told.filter((path) => path !== undefined),
  ];
}

/** Engines make the file system read-only that a folder is on, and not those that are mounted below it. */
async function checkSubmounts(source: string, shown: string): Promise<void> {
  const table = await readFile("/proc/self/mountinfo", "utf8").catch(() => ""); // not Linux: none can be known
  const points = table.split("\n").map((line) => unescapeMount(line.split(" ")[4] ?? ""));
  const below = points.find((point) => point !== source && isBelow(point, [source]));
  if (below === undefined) return;
  throw usage(
    `--mount ${shown}: ${JSON.stringify(below)} is mounted below it, and would not be read-only`,
    "Mount a folder that nothing else is mounted in.",
  );
}

/** `\040` and its like, as the kernel writes blanks. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/**
 * Throws `USAGE` where the job could reach what is the host's alone: our own folders, whose sign-ins and trust decide what
 * runs on the host, and the folder `out`, where a link of the job's would lead what we write to anywhere.
 */
export async function checkMounts(
  mounts: readonly Mount[],
  { stateDir, configDir, dataDir, cacheDir }: Pick<Config, "stateDir" | "configDir" | "dataDir" | "cacheDir">,
  out: string | undefined,
): Promise<void> {
  const own = await Promise.all([stateDir, configDir, dataDir, cacheDir].map(whereItLeads));
  for (const { source } of mounts) {
    const reached = own.find((folder) => isBelow(folder, [source]) || isBelow(source, [folder]));
    if (reached === undefined) continue;
    throw usage(
      `--mount of ${JSON.stringify(source)}: sandpy keeps files of its own in ${JSON.stringify(reached)}`,
      "Mount the folder that the job needs, and no other.",
    );
  }
  if (out === undefined) return;
  const place = await whereItLeads(resolve(out));
  const writable = mounts.find(({ source, isReadOnly }) => !isReadOnly && isBelow(place, [source]));
  if (writable === undefined) return;
  throw usage(
    `--out ${JSON.stringify(out)} is in ${JSON.stringify(writable.source)}, which the job may write to by --mount`,
    "Mount that with :ro, or name a folder elsewhere: the job could put a link in its place.",
  );
}

/** A path without links, also where the end of it is not there yet. */
async function whereItLeads(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined); // not there
  if (real !== undefined || path === dirname(path)) return real ?? path;
  return join(await whereItLeads(dirname(path)), basename(path));
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`));
}
