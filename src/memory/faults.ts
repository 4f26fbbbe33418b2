import { BridgeError } from "../core/errors.ts";
import { explainFileFault } from "../core/file-faults.ts";

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

/** What helps where only the folder of what is kept is concerned. */
const HINTS: Readonly<Record<string, string>> = {
  EROFS: "Set MCP_BRIDGE_STATE_DIR to a folder that can be written.",
  EACCES: "Its owner and mode must let you read and write: see ls -ld.",
  EPERM: "Its owner and mode must let you write, and it must not be immutable.",
  ENAMETOOLONG: "Set MCP_BRIDGE_STATE_DIR to a shorter path.",
  ENOTDIR: "Move that file away.",
  ELOOP: "Put the real file or folder in its place.",
};

/** Turns a failure of the file system into ours. `doing` completes "… failed", such as `saving "x"`. */
export function fromSystem(error: unknown, doing: string, path: string): BridgeError {
  if (error instanceof BridgeError) return error;
  const { what, hint } = explainFileFault(error);
  const { code = "" } = error as NodeJS.ErrnoException;
  return unavailable(
    `${doing} failed, and nothing was changed: ${what}: ${JSON.stringify(path)}`,
    hint ?? HINTS[code] ?? "Look at the file and its folder.",
    error,
  );
}
