import { randomBytes } from "node:crypto";
import { fateOf, ownIdentity } from "../core/process-identity.ts";

/**
 * Who owns a container, for labels. A process id alone can be reused, and another machine or another container with the
 * same engine has ids of its own: `started` names the boot, the PID namespace and the tick in which the process started.
 */
export interface Owner {
  readonly instance: string;
  readonly pid: number;
  readonly started: string;
}

const PREFIX = "io.sandpy.";

/** The label that every container of ours carries. */
export const INSTANCE_LABEL = `${PREFIX}instance`;

/** Describes this process as an owner, with a fresh instance id. */
export function describeOwner(): Owner {
  const { pid, bootId, namespace, started } = ownIdentity();
  const isKnown = bootId !== "" && namespace !== "" && started !== ""; // on Linux
  return {
    instance: randomBytes(8).toString("hex"),
    pid,
    started: isKnown ? `${bootId}/${namespace}/${started}` : "unknown",
  };
}

/** Renders an owner as container labels. */
export function renderLabels({ instance, pid, started }: Owner): Record<string, string> {
  return { [INSTANCE_LABEL]: instance, [`${PREFIX}pid`]: String(pid), [`${PREFIX}started`]: started };
}

/** Whether the owner that these labels name ran on this machine, where we would see it, and does not any more. */
export function isOwnerGone(labels: Readonly<Record<string, unknown>>): boolean {
  const { [`${PREFIX}pid`]: pid, [`${PREFIX}started`]: identity } = labels;
  const own = ownIdentity();
  const [, boot, namespace, started] = /^([^/]+)\/([^/]+)\/(\d+)$/.exec(String(identity)) ?? [];
  // A remote engine has containers of other machines.
  if (boot !== own.bootId || namespace !== own.namespace || started === undefined) return false;
  return fateOf({ ...own, pid: Number(pid), started }) === "ended";
}
