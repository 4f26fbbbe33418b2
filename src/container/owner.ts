import { randomBytes } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
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
export async function describeOwner(): Promise<Owner> {
  const started = (await identify(process.pid)) ?? "unknown";
  return { instance: randomBytes(8).toString("hex"), pid: process.pid, started };
}

/** Renders an owner as container labels. */
export function renderLabels({ instance, pid, started }: Owner): Record<string, string> {
  return { [INSTANCE_LABEL]: instance, [`${PREFIX}pid`]: String(pid), [`${PREFIX}started`]: started };
}

/** Whether the owner that these labels name ran on this machine, where we would see it, and does not any more. */
export async function isOwnerGone(labels: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { [`${PREFIX}pid`]: pid, [`${PREFIX}started`]: started } = labels;
  const own = await identify(process.pid);
  if (own === undefined || typeof pid !== "string" || typeof started !== "string") return false;
  const placeOf = (identity: string) => identity.slice(0, identity.lastIndexOf("/"));
  return placeOf(started) === placeOf(own) && (await identify(Number(pid))) !== started;
}

/** `boot/namespace/tick` of a process; `undefined` when there is none, or outside Linux. */
async function identify(pid: number): Promise<string | undefined> {
  try {
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const namespace = /\d+/.exec(await readlink("/proc/self/ns/pid"))?.[0] ?? "";
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${boot}/${namespace}/${fields[19]}`;
  } catch {
    return undefined; // not Linux, or no such process
  }
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
