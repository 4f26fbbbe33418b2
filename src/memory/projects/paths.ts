import { isTemporary } from "../../core/atomic-file.ts";
import { refuse, shown } from "../faults.ts";

export const MAX_PATH_BYTES = 512;
export const MAX_LEVELS = 16;
/** What Python compiles its imports to: made anew, and nobody else is to run it. */
const NOT_KEPT: ReadonlySet<string> = new Set(["__pycache__"]);

/** The parts of a path from the sandbox. Throws `MEMORY_REFUSED` where it could name anything but a file of the caller's. */
export function parseProjectPath(path: string): readonly string[] {
  const parts = path.split("/");
  const fault = faultOf(path, parts);
  if (fault === undefined) return parts;
  throw refuse(`the file ${shown(path)} cannot be kept: its path ${fault}`);
}

/** Whether a name in a folder is one that is never shown: our own while it is written, or of no use elsewhere. */
export function isHiddenName(name: string): boolean {
  return isTemporary(name) || NOT_KEPT.has(name);
}

function faultOf(path: string, parts: readonly string[]): string | undefined {
  if (path === "" || path.startsWith("/")) return 'is not relative to "/projects"';
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    return 'has an empty part, "." or ".."';
  if (path.includes("\0") || path.includes("\\")) return "has a NUL or a backslash";
  if (!path.isWellFormed()) return "is not text that UTF-8 can hold";
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `has more than ${MAX_PATH_BYTES} bytes`;
  if (parts.length > MAX_LEVELS) return `has more than ${MAX_LEVELS} levels`;
  if (parts.some((part) => Buffer.byteLength(part) > 200)) return "has a part of more than 200 bytes";
  if (parts.some(isHiddenName)) return "is that of a file that is being written, or of __pycache__";
  return undefined;
}
