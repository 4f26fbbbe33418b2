import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fateOf, ownIdentity } from "../core/process-identity.ts";
import type { HardLimits } from "./run-args.ts";

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

/** The hard limits of this process, which its children cannot exceed. Unknown outside Linux. */
export async function readHardLimits(): Promise<HardLimits> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => ""); // not Linux
  return {
    openFiles: parseHardLimit(text, "Max open files"),
    processes: parseHardLimit(text, "Max processes"),
  };
}

function parseHardLimit(text: string, name: string): number | undefined {
  const line = text.split("\n").find((candidate) => candidate.startsWith(name));
  const hard = line?.slice(name.length).trim().split(/\s+/)[1];
  if (hard === undefined) return undefined;
  return hard === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(hard);
}
