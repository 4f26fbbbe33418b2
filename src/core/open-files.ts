import { readFileSync } from "node:fs";

/** Where the system does not say: what macOS gives to a program of a desktop is more. */
const UNKNOWN = 4096;

/** How many descriptors this process may have open. Bun raises the soft limit to the hard one when it starts. */
export function openFilesLimit(): number {
  try {
    const [, soft = ""] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft) || UNKNOWN;
  } catch {
    return UNKNOWN; // not Linux
  }
}
