import { BridgeError } from "../core/errors.ts";
import { INHERITED } from "../core/heir.ts";
import type { OwnLimits } from "../core/own-limits.ts";
import type { SandboxSpec } from "./engine.ts";
import { runtimeArgs } from "./gvisor.ts";
import { mountArgs } from "./mounts.ts";

/** Where the sandbox has a copy of what its user keeps on the host. */
export const PROJECTS = "/projects";

const MIB = 1024 * 1024;
const TMP_BYTES = 64 * MIB;
const WORKSPACE_BYTES = 128 * MIB;
const SHM_BYTES = 64 * MIB;
/** Twice the files that are kept, for folders. */
const MAX_PROJECT_INODES = 20_000;
/** Each file takes 1 KiB of memory, also an empty one. */
const MAX_INODES = 40_000;
const OPEN_FILES = { soft: 1024, hard: 4096 };
// Podman starts the OCI runtime with a lower hard limit than the shell's: the kernel's highest process id, often 32768.
const PROCESSES = 16384;
/** Of RFC 5737: nobody's. */
const NO_RESOLVER = "192.0.2.1";

/** What the sandbox's environment holds beside what the image itself sets. Nothing of the host's is passed on. */
const ENVIRONMENT = {
  HOME: "/workspace",
  LANG: "C.UTF-8",
  TMPDIR: "/tmp",
  MPLCONFIGDIR: "/tmp/matplotlib",
};

/** Docker's client copies these from its own configuration into each container unless they are set. */
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"];

/** All that decides how a container is started. */
export interface RunPlan {
  readonly engine: "podman" | "docker";
  /** A podman elsewhere; its client refuses some flags, with what they are for absent there. */
  readonly remote: boolean;
  /** What follows is for mounts alone; absent: no. */
  readonly rootless?: boolean;
  /** Files of the host need a label. */
  readonly isLabelled?: boolean;
  readonly ociRuntime: string | undefined;
  readonly spec: SandboxSpec;
  /** The container's name. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Path of the seccomp profile. */
  readonly seccompProfile: string;
  /** The largest values that the bridge may give to its children. */
  readonly hardLimits: OwnLimits;
  /** Volumes that the image declares and that docker would make on the host's disk. */
  readonly imageVolumes: readonly string[];
  /** The container gets {@link INHERITED} descriptors of the client, which then ends. Podman's own, on this machine. */
  readonly isHeir?: boolean;
}

/** Builds the arguments of the engine's client that start the sandbox. Throws `CONFIG_INVALID` on a bad image or user. */
export function buildRunArgs(plan: RunPlan): string[] {
  const { engine, spec } = plan;
  checkImage(spec.image);
  checkUser(spec.user);
  const isHeir = plan.isHeir === true;
  const [program, ...programArgs] = (isHeir ? spec.heirCommand : undefined) ?? spec.command;
  if (program === undefined) throw new BridgeError("INTERNAL", "the sandbox has no command");
  const runtime = runtimeArgs(engine, plan.ociRuntime, false);
  return [
    // Podman takes it before the command, docker after it.
    ...(engine === "podman" ? [...runtime, "run"] : ["run", ...runtime]),
    ...[
      "--rm",
      ...(isHeir ? ["--detach", "--preserve-fds", String(INHERITED)] : ["--interactive"]),
      "--name",
      plan.name,
      "--pull",
      "never",
    ],
    ...isolation(plan),
    ...mounts(plan),
    ...limits(plan),
    ...Object.entries(plan.labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...environment(plan),
    ...["--workdir", "/workspace", "--hostname", "sandbox"],
    // Nothing that the image says about starting is used: it names files, not behaviour.
    ...["--no-healthcheck", "--entrypoint", program, spec.image, ...programArgs],
  ];
}

/** Throws `CONFIG_INVALID` unless the text is an image reference: it must never be read as a flag or as a path. */
export function checkImage(image: string): void {
  if (image.length <= 512 && IMAGE_REFERENCE.test(image)) return;
  throw new BridgeError("CONFIG_INVALID", `${JSON.stringify(image)} is not the name of a container image`, {
    hint: 'Set MCP_BRIDGE_IMAGE to a name such as "python:3.14-slim" or "registry.example/team/python:1".',
  });
}

/** Throws `CONFIG_INVALID` unless the text is `uid:gid` in numbers and the uid is not root's. */
export function checkUser(user: string): void {
  const [uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(user)?.slice(1).map(Number) ?? [];
  if (uid !== undefined && gid !== undefined && uid > 0 && Math.max(uid, gid) < 2 ** 32 - 1) return;
  throw new BridgeError("CONFIG_INVALID", `${JSON.stringify(user)} is not a user for the sandbox`, {
    hint: 'Set MCP_BRIDGE_CONTAINER_USER to two numbers "uid:gid", the uid not 0, such as "65534:65534".',
  });
}

const IMAGE_REFERENCE = (() => {
  const component = "[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*";
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
  const host = `(?:${label}(?:\\.${label})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]{1,5})?`;
  const digest = "@[a-z][a-z0-9]*(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,128}";
  return new RegExp(`^(?:${host}/)?${component}(?:/${component})*(?::\\w[\\w.-]{0,127})?(?:${digest})?$`);
})();

function isolation(plan: RunPlan): string[] {
  const { engine, remote, spec, seccompProfile, imageVolumes } = plan;
  const [uid, gid] = spec.user.split(":");
  const owner = engine === "podman" ? "U" : `uid=${uid},gid=${gid}`;
  const common = [
    ...["--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    ...["--security-opt", `seccomp=${seccompProfile}`, "--user", spec.user],
    ...["--ipc", "private", "--cgroupns", "private"],
    // The engine would otherwise write each frame to the host's disk, without a limit.
    ...["--log-driver", "none"],
    // So that "rm --force" kills at once, and a daemon that stops does: the default waits ten seconds for a polite end.
    ...["--stop-timeout", "0"],
    ...["--tmpfs", withInodes(engine, tmpfs("/tmp", TMP_BYTES, owner), MAX_INODES)],
    ...["--tmpfs", withInodes(engine, tmpfs("/workspace", WORKSPACE_BYTES, owner), MAX_INODES)],
    ...["--tmpfs", projectsMount(plan, owner)],
  ];
  if (engine === "docker") {
    // Docker has no switch against an image's volumes; a read-only mount in the same place is one.
    const covers = imageVolumes.filter(isForeign).flatMap((path) => ["--tmpfs", coverOf(path)]);
    // It would else write the host's resolvers and domains into each container, also into one without a network.
    return [...common, ...covers, "--dns", NO_RESOLVER, "--dns-search", "."];
  }
  return [
    ...common,
    // Podman leaves /run and /var/tmp writable and unbounded in a read-only container.
    ...["--read-only-tmpfs=false", "--image-volume", "ignore", "--systemd=false"],
    // Podman 5 then makes its own /dev/shm read-only.
    ...["--tmpfs", tmpfs("/dev/shm", SHM_BYTES, owner)],
    // Docker has these private and no word for it; for podman a configuration file could say otherwise.
    ...["--pid", "private", "--uts", "private", "--sdnotify", "ignore"],
    // Two control characters in the input would otherwise cut the client off. (Our frames have none.)
    ...(remote ? [] : ["--detach-keys="]),
  ];
}

/** What the caller wants the sandbox to see; rootless podman then runs it as the caller, whose files these are. */
function mounts({ engine, rootless, remote, isLabelled, spec }: RunPlan): string[] {
  if (spec.mounts === undefined || spec.mounts.length === 0) return [];
  const [uid, gid] = spec.user.split(":");
  const mapped =
    engine === "podman" && rootless === true && !remote ? ["--userns", `keep-id:uid=${uid},gid=${gid}`] : [];
  return [...mapped, ...mountArgs(spec.mounts, isLabelled === true)];
}

/** Our own folders are mounted already. */
function isForeign(path: string): boolean {
  return !["/tmp", "/workspace", PROJECTS].includes(path.replace(/\/+$/, ""));
}

function coverOf(path: string): string {
  if (/^\/[^:,]*$/.test(path)) return `${path}:ro,noexec,nosuid,nodev,size=4096`;
  throw new BridgeError("CONFIG_INVALID", `the image declares a volume ${JSON.stringify(path)}`, {
    hint: "Set MCP_BRIDGE_IMAGE to an image whose volumes have no colon and no comma in their paths.",
  });
}

/** The owner is set beside the mode because runc puts the mode of the image's own folder over the one asked for. */
function tmpfs(path: string, bytes: number, owner: string, mode = "1777"): string {
  return `${path}:rw,noexec,nosuid,nodev,size=${bytes},mode=${mode},${owner}`;
}

function projectsMount({ engine, spec }: RunPlan, owner: string): string {
  return withInodes(engine, tmpfs(PROJECTS, spec.limits.projectsBytes, owner, "0700"), MAX_PROJECT_INODES);
}

/** Docker also bounds how many files there can be; podman does not know that option, and the supervisor looks. */
function withInodes(engine: RunPlan["engine"], mount: string, most: number): string {
  return engine === "docker" ? `${mount},nr_inodes=${most}` : mount;
}

/** The ulimits of every container of ours. */
export function processLimits({ engine, hardLimits }: Pick<RunPlan, "engine" | "hardLimits">): string[] {
  const openFiles = (wanted: number) => Math.min(wanted, hardLimits.openFiles ?? wanted);
  const ulimits = [
    "core=0:0",
    // The engine mounts /dev/mqueue for everyone to write to; so nothing can be made there.
    "msgqueue=0:0",
    // An engine without the right to raise limits fails on its own defaults: ours are never above the bridge's own.
    `nofile=${openFiles(OPEN_FILES.soft)}:${openFiles(OPEN_FILES.hard)}`,
    // Counted per user over all sandboxes, so this is no limit of one sandbox: --pids-limit is. Docker's daemon has
    // limits of its own, which ours say nothing about.
    ...(engine === "docker" || hardLimits.processes === undefined
      ? []
      : [`nproc=${Math.min(PROCESSES, hardLimits.processes)}`]),
  ];
  return ulimits.flatMap((ulimit) => ["--ulimit", ulimit]);
}

function limits(plan: RunPlan): string[] {
  const { engine, spec } = plan;
  const { memoryBytes, pids, cpus } = spec.limits;
  return [
    // Swap is counted in: the same value means none.
    ...["--memory", String(memoryBytes), "--memory-swap", String(memoryBytes), "--pids-limit", String(pids)],
    ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
    ...(engine === "docker" ? ["--shm-size", String(SHM_BYTES)] : []),
    ...processLimits(plan),
  ];
}

function environment({ engine, remote }: RunPlan): string[] {
  const own = Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  if (engine === "podman") return ["--http-proxy=false", ...(remote ? [] : ["--env-host=false"]), ...own];
  const names = PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]);
  return [...own, ...names.flatMap((name) => ["--env", `${name}=`])];
}
