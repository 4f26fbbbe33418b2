import { access, stat } from "node:fs/promises";
import { BridgeError } from "../core/errors.ts";
import type { EngineInfo, Mount, SandboxSpec } from "./engine.ts";

const SELINUX = "/sys/fs/selinux/enforce";
const READ = 4;
const WRITE = 2;
const ENTER = 1;

/** Whether files need a label before a container may see them. */
export function usesSelinux(): Promise<boolean> {
  return access(SELINUX).then(
    () => true,
    () => false, // not mounted, or not Linux
  );
}

/** The arguments that show folders of the host. A path with a colon cannot be said to every engine. */
export function mountArgs(mounts: readonly Mount[], isLabelled: boolean): string[] {
  return mounts.flatMap(({ source, target, isReadOnly }) => {
    if (`${source}${target}`.includes(":"))
      throw new BridgeError("INTERNAL", `a mount with a colon: ${JSON.stringify(source)}`);
    const options = [isReadOnly ? "ro" : "rw", ...(isLabelled ? ["z"] : [])];
    return ["--volume", `${source}:${target}:${options.join(",")}`];
  });
}

/**
 * The user of a sandbox that sees folders of the host. Rootless podman makes it the caller by `--userns`; where the engine
 * runs as root, the caller's own numbers do, so that files belong to the caller afterwards.
 */
export function mountUser(user: string, isDefault: boolean, { rootless, remote }: EngineInfo): string {
  const uid = process.getuid?.() ?? 0;
  return !isDefault || rootless || remote || uid === 0 ? user : `${uid}:${process.getgid?.() ?? uid}`;
}

/** Throws `FILES_FAILED` where the sandbox's user could not use what is mounted, as far as that can be known from here. */
export async function checkMounts({ mounts, user }: SandboxSpec, info: EngineInfo): Promise<void> {
  const isMapped = info.rootless && info.engine === "podman";
  if (mounts === undefined || isMapped || info.remote || process.platform !== "linux") return;
  // What rootless docker calls its users are none of this machine's that own anything here.
  const [uid, gid] = info.rootless ? [] : user.split(":").map(Number);
  for (const { source, isReadOnly } of mounts) {
    const facts = await stat(source);
    const shift = facts.uid === uid ? 6 : facts.gid === gid ? 3 : 0;
    const needed = READ | (facts.isDirectory() ? ENTER : 0);
    const has = (facts.mode >> shift) & 7;
    if ((has & needed) !== needed) throw noAccess(source, user, "read", "o+rX");
    if (!isReadOnly && (has & WRITE) === 0) throw noAccess(source, user, "written", "o+rwX");
  }
}

function noAccess(source: string, user: string, what: string, mode: string): BridgeError {
  const readOnly = what === "written" ? 'Add ":ro" to the mount if reading is enough. Else let ' : "Let ";
  return new BridgeError(
    "FILES_FAILED",
    `the mount of ${JSON.stringify(source)} could not be ${what} by the sandbox, which runs as ${user}`,
    {
      hint: `${readOnly}that user: chmod -R ${mode} ${JSON.stringify(source)}; or name the owner, unless that is root, with MCP_BRIDGE_CONTAINER_USER=uid:gid.`,
    },
  );
}
