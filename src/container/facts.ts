import { readFile, statfs } from "node:fs/promises";

/** What is asked of an engine once; the base of its `EngineInfo`. */
export interface EngineFacts {
  readonly version: string;
  readonly rootless: boolean;
  readonly cgroupVersion: 1 | 2 | undefined;
  readonly enforcesLimits: boolean;
  /** Whether podman's client talks to a podman elsewhere (a virtual machine, another user): it knows fewer flags. */
  readonly remote: boolean;
}

const CGROUP2_MAGIC = 0x63677270;
const CGROUP_ROOT = "/sys/fs/cgroup";

/** How this Linux machine keeps cgroups. `hybrid`: version 1, and controllers bound to version 2 beside it. */
export interface CgroupFacts {
  readonly version: 1 | 2;
  readonly hybrid: boolean;
  readonly controllers: readonly string[];
}

/** Reads the machine's cgroup facts; `undefined` where there are none (not Linux, not mounted). */
export async function readCgroups(): Promise<CgroupFacts | undefined> {
  const type = await filesystemType(CGROUP_ROOT);
  if (type === undefined) return undefined;
  if (type === CGROUP2_MAGIC) {
    const controllers = await readWords(`${CGROUP_ROOT}/cgroup.controllers`);
    return { version: 2, hybrid: false, controllers };
  }
  const hybrid = (await readWords(`${CGROUP_ROOT}/unified/cgroup.controllers`)).length > 0;
  const lines = (await readFile("/proc/cgroups", "utf8").catch(() => "")).split("\n"); // absent: no controllers
  const controllers = lines
    .map((line) => line.split("\t"))
    .filter(([, hierarchy, , enabled]) => hierarchy !== "0" && enabled === "1")
    .map(([name]) => name ?? "");
  return { version: 1, hybrid, controllers };
}

/**
 * The facts of a local podman that follow from the machine alone: asking podman takes longer than starting a
 * container. `undefined` where only podman knows (rootless on cgroup version 2: which controllers it was given).
 */
export function inferPodmanFacts(
  version: string,
  uid: number,
  cgroups: CgroupFacts,
): EngineFacts | undefined {
  const rootless = uid !== 0;
  if (rootless && cgroups.version === 2) return undefined;
  // Podman without root warns of limits on cgroup version 1, ignores them, and starts the container all the same.
  const enforcesLimits = !rootless && hasLimits(cgroups.controllers);
  return { version, rootless, cgroupVersion: cgroups.version, enforcesLimits, remote: false };
}

/** The facts in the answer of `podman info --format json`; `undefined` when it is not one. */
export function parsePodmanInfo(answer: unknown, remote: boolean): EngineFacts | undefined {
  const host = record(record(answer)["host"]);
  const version = record(record(answer)["version"])["Version"];
  if (typeof version !== "string") return undefined;
  const rootless = record(host["security"])["rootless"] !== false;
  const cgroupVersion = host["cgroupVersion"] === "v2" ? 2 : host["cgroupVersion"] === "v1" ? 1 : undefined;
  const granted = hasLimits(host["cgroupControllers"]);
  // Without systemd's user session a rootless podman makes no cgroup of its own, so its limits have nowhere to go.
  const usable = !rootless || (cgroupVersion === 2 && host["cgroupManager"] === "systemd");
  return { version, rootless, cgroupVersion, enforcesLimits: granted && usable, remote };
}

/** What `docker info` says: the facts, or why its daemon is of no use. */
export type DockerAnswer =
  | { readonly facts: EngineFacts; readonly runtimes: readonly string[]; readonly defaultRuntime: string }
  | { readonly reason: string };

/** Reads the answer of `docker info` as JSON. A client without a daemon answers too, with an empty server version. */
export function parseDockerInfo(answer: unknown): DockerAnswer {
  const info = record(answer);
  const version = info["ServerVersion"];
  if (typeof version !== "string" || version === "") {
    const errors = info["ServerErrors"];
    const words = Array.isArray(errors) ? errors.join("; ") : "";
    return {
      reason: `the client is there, but its daemon does not answer${words === "" ? "" : `: ${words}`}`,
    };
  }
  if (info["OSType"] !== "linux")
    return { reason: `its daemon runs ${JSON.stringify(info["OSType"])} containers, not linux ones` };
  const security = Array.isArray(info["SecurityOptions"]) ? info["SecurityOptions"] : [];
  return {
    facts: {
      version,
      rootless: security.includes("name=rootless"),
      cgroupVersion: info["CgroupVersion"] === "2" ? 2 : info["CgroupVersion"] === "1" ? 1 : undefined,
      enforcesLimits: info["MemoryLimit"] === true && info["PidsLimit"] === true,
      remote: false,
    },
    runtimes: Object.keys(record(info["Runtimes"])),
    defaultRuntime: String(info["DefaultRuntime"] ?? ""),
  };
}

/** The value if it is an object, else an empty one: engines differ in what they leave out. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function hasLimits(controllers: unknown): boolean {
  return Array.isArray(controllers) && controllers.includes("memory") && controllers.includes("pids");
}

async function filesystemType(path: string): Promise<number | undefined> {
  return statfs(path).then(
    ({ type }) => type,
    () => undefined, // not mounted
  );
}

async function readWords(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => ""); // absent: no words
  return text.split(/\s+/).filter((word) => word !== "");
}
