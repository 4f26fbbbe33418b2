import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { callEngine } from "./engine-call.ts";
import { record } from "./facts.ts";
import { findInstallCommand } from "./install-hint.ts";
import { findSystemProgram } from "./machine.ts";
import { parseJson } from "./parse-json.ts";
import type { Trouble } from "./trouble.ts";

const MACHINE_TIMEOUT_MS = 10_000;
const SUBORDINATE_FILES = ["/etc/subuid", "/etc/subgid"];

/** Where to look; `executable` is podman's client. */
export interface PodmanPlace {
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  /** The effective user id; `undefined` where there are none. */
  readonly uid: number | undefined;
  readonly signal: AbortSignal;
}

/** What keeps podman from starting containers on this machine. */
export async function findPodmanTroubles(place: PodmanPlace): Promise<readonly Trouble[]> {
  if (place.platform !== "linux") return findMachineTroubles(place);
  if (place.uid === undefined || place.uid === 0) return [];
  const found = await Promise.all([
    findSubordinateIds(place.uid),
    findMapper(place.env),
    findNamespaces(),
    findRuntimeFolder(place.uid, place.env),
  ]);
  return found.filter((trouble) => trouble !== undefined);
}

/** Elsewhere than on Linux podman needs a virtual machine. */
async function findMachineTroubles({ executable, env, signal }: PodmanPlace): Promise<readonly Trouble[]> {
  const args = ["machine", "list", "--format", "json"];
  const answer = await callEngine({ executable, args, env, timeoutMs: MACHINE_TIMEOUT_MS, signal });
  const machines = parseJson(answer.stdout);
  if (answer.code !== 0 || !Array.isArray(machines)) return [];
  const known = machines.map(record);
  if (known.some((machine) => machine["Running"] === true)) return [];
  const [first] = known;
  if (first === undefined) {
    return [
      problem(
        "podman has no virtual machine, which containers need on this system",
        "Make one and start it.",
        "podman machine init && podman machine start",
      ),
    ];
  }
  const name = String(first["Name"] ?? "").replace(/\*$/, "");
  const isPlain = /^[\w.-]+$/.test(name);
  return [
    problem(
      `podman's virtual machine${isPlain ? ` "${name}"` : ""} does not run`,
      "Start it.",
      `podman machine start${isPlain ? ` ${name}` : ""}`,
    ),
  ];
}

/** The sandbox runs as a user of its own, and an ordinary user has only those ids that the administrator gave. */
async function findSubordinateIds(uid: number): Promise<Trouble | undefined> {
  const { username } = userInfo();
  // Where a directory service gives them, they are in no file.
  if (/^\s*subid\s*:/m.test(await readText("/etc/nsswitch.conf"))) return undefined;
  const owners = [username, String(uid)];
  for (const file of SUBORDINATE_FILES) {
    const lines = (await readText(file)).split("\n").map((line) => line.split(":"));
    if (lines.some(([owner = "", , count]) => owners.includes(owner) && Number(count) >= 65_536)) continue;
    return problem(
      `the user "${username}" has no range of 65536 ids in ${file}, which rootless podman needs`,
      "Give the user some, then have podman read them.",
      `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${username} && podman system migrate`,
    );
  }
  return undefined;
}

async function findMapper(env: Readonly<Record<string, string>>): Promise<Trouble | undefined> {
  const names = ["newuidmap", "newgidmap"];
  const paths = await Promise.all(names.map((name) => findSystemProgram(name, env)));
  const missing = names.find((_, index) => paths[index] === undefined);
  if (missing === undefined) return undefined;
  const install = await findInstallCommand();
  return problem(
    `"${missing}" is not installed, which rootless podman needs`,
    "Install it: its package is called uidmap, shadow-utils or shadow.",
    install?.includes("apt-get") ? "sudo apt-get install uidmap" : undefined,
  );
}

async function findNamespaces(): Promise<Trouble | undefined> {
  const switches = [
    ["user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", 28_633],
    ["kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", 1],
  ] as const;
  for (const [name, file, value] of switches) {
    if ((await readText(file)).trim() !== "0") continue;
    return problem(
      `${name} is 0, so that ordinary users cannot have containers`,
      "Allow it; a file in /etc/sysctl.d keeps it over a boot.",
      `sudo sysctl ${name}=${value}`,
    );
  }
  return undefined;
}

/** Podman gets along without, with files in /tmp; but then it has no user session that could enforce limits. */
async function findRuntimeFolder(
  uid: number,
  env: Readonly<Record<string, string>>,
): Promise<Trouble | undefined> {
  const folder = env["XDG_RUNTIME_DIR"];
  const usual = `/run/user/${uid}`;
  if (folder === undefined || folder === "") {
    return {
      gravity: "warning",
      found: "XDG_RUNTIME_DIR is not set: rootless podman has no folder for what runs, nor a user session",
      remedy:
        "Set it where sandpy is started, in the entry of your MCP client too; without a login session let one linger.",
      command: `export XDG_RUNTIME_DIR=${usual}; loginctl enable-linger`,
    };
  }
  const facts = await stat(folder).catch(() => undefined); // missing, or not ours to see
  if (facts?.isDirectory() === true && facts.uid === uid) return undefined;
  const why = facts === undefined ? "does not exist" : "is not a folder of this user";
  return problem(
    `XDG_RUNTIME_DIR is ${JSON.stringify(folder)}, which ${why}`,
    "Name the user's own folder for what runs.",
    `export XDG_RUNTIME_DIR=${usual}`,
  );
}

function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => ""); // this system has none
}

function problem(found: string, remedy: string, command: string | undefined): Trouble {
  return { gravity: "problem", found, remedy, command };
}
