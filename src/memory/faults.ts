import { BridgeError } from "../core/errors.ts";

const MAX_SHOWN_CHARS = 200;

/** A name from the sandbox or from a file, in quotes and short enough for a message. */
export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text);
}

/** What was asked for is not allowed, and would not be another time. */
export function refuse(message: string, hint?: string): BridgeError {
  return new BridgeError("MEMORY_REFUSED", message, hint === undefined ? {} : { hint });
}

/** What was asked for could not be done with the files as they are. */
export function unavailable(message: string, hint: string, cause?: unknown): BridgeError {
  return new BridgeError("MEMORY_UNAVAILABLE", message, { hint, cause });
}

const REASONS: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOSPC: ["the disk is full", "Free some space on it, then try again."],
  EDQUOT: ["the user's share of the disk is used up", "Free some space on it, then try again."],
  EFBIG: ["the file would be larger than this process may write", "Raise its limit (ulimit -f)."],
  EROFS: [
    "it is on a file system that is read-only",
    "Set MCP_BRIDGE_STATE_DIR to a folder that can be written.",
  ],
  EACCES: ["permission is denied", "Its owner and mode must let you read and write: see ls -ld."],
  EPERM: ["it is not permitted", "Its owner and mode must let you write, and it must not be immutable."],
  ENAMETOOLONG: ["the path is too long", "Set MCP_BRIDGE_STATE_DIR to a shorter path."],
  ENOTDIR: ["a part of the path is not a folder", "Move that file away."],
  ELOOP: ["it is a symbolic link, which is not followed", "Put the real file or folder in its place."],
  EMFILE: ["too many files are open", "Raise the limit (ulimit -n)."],
};

/** Turns a failure of the file system into ours. `doing` completes "… failed", such as `saving "x"`. */
export function fromSystem(error: unknown, doing: string, path: string): BridgeError {
  if (error instanceof BridgeError) return error;
  const { code = "", message } = error as NodeJS.ErrnoException;
  const [what, hint] = REASONS[code] ?? [message, "Look at the file and its folder."];
  return unavailable(
    `${doing} failed, and nothing was changed: ${what}: ${JSON.stringify(path)}`,
    hint,
    error,
  );
}
