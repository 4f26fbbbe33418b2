import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

const DIGITS = 8;

/**
 * Which process it was, in few characters: a process id alone can be another's by now, and another machine, boot or
 * container has ids of its own.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Eight hex digits that stand for the machine and the PID namespace. */
  readonly where: string;
  /** Eight hex digits that stand for the boot; zeros outside Linux. */
  readonly boot: string;
  /** The tick since the boot in which it started; "" outside Linux. */
  readonly started: string;
}

/** This process, as Linux names it: `bootId` and `namespace` are "" elsewhere. */
export interface OwnIdentity extends ProcessIdentity {
  readonly bootId: string;
  readonly namespace: string;
  /** `where` as earlier versions wrote it, without the machine's id: other machines of this name have the same. */
  readonly whereByName: string;
}

/** What can be said of a process from here: that it runs, that it has ended, or nothing, since we would not see it. */
export type Fate = "runs" | "ended" | "unknown";

let own: OwnIdentity | undefined;

/** Describes this process. */
export function ownIdentity(): OwnIdentity {
  own ??= describe();
  return own;
}

function describe(): OwnIdentity {
  const bootId = readText("/proc/sys/kernel/random/boot_id").trim();
  const namespace = readNamespace();
  return {
    pid: process.pid,
    where: digestPlace(hostname(), namespace, readMachineId()),
    whereByName: digestPlace(hostname(), namespace, ""),
    boot: bootId === "" ? "0".repeat(DIGITS) : digest(bootId),
    started: readStart(process.pid) ?? "",
    bootId,
    namespace,
  };
}

/** `machineId` is "" where the system has none. It is nobody else's business, so it never stands alone. */
export function digestPlace(host: string, namespace: string, machineId: string): string {
  return digest([host, namespace, ...(machineId === "" ? [] : [machineId])].join("\0"));
}

/** What became of a process. Its number may be another's by now, and the machine may have been started anew since. */
export function fateOf({ pid, where, boot, started }: ProcessIdentity): Fate {
  const us = ownIdentity();
  // Of an earlier version it is known only from the boot that it was this machine.
  if (where !== us.where && (where !== us.whereByName || boot !== us.boot)) return "unknown";
  if (boot !== us.boot) return "ended";
  const now = readStart(pid);
  // Processes of others can be hidden.
  if (now === undefined || started === "") return isAlive(pid) ? "runs" : "ended";
  return now === started ? "runs" : "ended";
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
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

/** Two machines can have one name, and all processes outside containers the same namespace. */
function readMachineId(): string {
  const id = readText("/etc/machine-id").trim() || readText("/var/lib/dbus/machine-id").trim();
  return /^[0-9a-f]{32}$/.test(id) ? id : ""; // "uninitialized" at the first boot; other systems have none
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
