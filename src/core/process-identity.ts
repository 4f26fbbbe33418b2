import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Which process it was: a process id alone can be another's by now, and another machine, boot or container has ids of its
 * own. `boot` and `namespace` are "" and `started` is "" outside Linux, where there is less to go by.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  readonly boot: string;
  /** The PID namespace. */
  readonly namespace: string;
  /** The tick since the boot in which it started. */
  readonly started: string;
}

/** What can be said of a process from here: that it runs, that it has ended, or nothing, since we would not see it. */
export type Fate = "runs" | "ended" | "unknown";

let own: ProcessIdentity | undefined;

/** Describes this process. */
export function ownIdentity(): ProcessIdentity {
  own ??= {
    pid: process.pid,
    host: hostname(),
    boot: readText("/proc/sys/kernel/random/boot_id").trim(),
    namespace: readNamespace(),
    started: readStart(process.pid) ?? "",
  };
  return own;
}

/** What became of a process. Its number may be another's by now, and the machine may have been started anew since. */
export function fateOf({ pid, host, boot, namespace, started }: ProcessIdentity): Fate {
  const us = ownIdentity();
  if (host !== us.host || namespace !== us.namespace) return "unknown";
  if (boot !== us.boot) return "ended";
  const now = readStart(pid);
  // Processes of others can be hidden.
  if (now === undefined || started === "") return isAlive(pid) ? "runs" : "ended";
  return now === started ? "runs" : "ended";
}

/** Whether there is a process of that id on this machine, also one of somebody else's. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** `undefined` where it cannot be read; "" for one that has ended, and that nobody has taken note of yet. */
function readStart(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
  const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? "" : fields[18];
}

function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "";
  } catch {
    return ""; // not Linux
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // not Linux, or no such process
  }
}
