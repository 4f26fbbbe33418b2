import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { HardLimits } from "./run-args.ts";

/**
 * Who owns a container, for labels: a process id alone can be reused, so the time of its start stands beside it
 * (clock ticks since boot and the boot's id on Linux).
 */
export interface Owner {
  readonly instance: string;
  readonly pid: number;
  readonly started: string;
}

/** Describes this process as an owner, with a fresh instance id. */
export async function describeOwner(): Promise<Owner> {
  return {
    instance: randomBytes(8).toString("hex"),
    pid: process.pid,
    started: await readStartTime(process.pid),
  };
}

/** Renders an owner as container labels. */
export function renderLabels(owner: Owner): Record<string, string> {
  return {
    "io.sandpy.instance": owner.instance,
    "io.sandpy.pid": String(owner.pid),
    "io.sandpy.started": owner.started,
  };
}

/** When the process with this id started; `unknown` where the system does not say. */
export async function readStartTime(pid: number): Promise<string> {
  try {
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${boot}/${fields[19]}`;
  } catch {
    return "unknown"; // not Linux, or no such process
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
