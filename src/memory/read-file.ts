import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** A file's content, and when it was changed, in seconds since the epoch. */
export interface FileContent {
  readonly text: string;
  readonly bytes: number;
  readonly modifiedAt: number;
}

/** Why what lies at a path was not read; `reason` completes "it …". */
export interface Unreadable {
  readonly reason: string;
}

const REASONS: Readonly<Record<string, string>> = {
  ELOOP: "is a symbolic link, which is not followed",
  EACCES: "may not be read (permission denied)",
  EPERM: "may not be read (not permitted)",
  EISDIR: "is a folder",
  ENXIO: "is not a regular file",
};

/**
 * Reads a regular file of text, without following a link, waiting for a pipe, or reading more than `maxBytes`.
 * `undefined`: there is none. Never rejects.
 */
export async function readPlainFile(
  path: string,
  maxBytes: number,
): Promise<FileContent | Unreadable | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (facts.isDirectory()) return { reason: "is a folder" };
      if (!facts.isFile()) return { reason: "is not a regular file" };
      if (facts.size > maxBytes)
        return { reason: `has ${facts.size} bytes, more than the ${maxBytes} allowed` };
      const content = await handle.readFile();
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
      return { text, bytes: content.length, modifiedAt: facts.mtimeMs / 1000 };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof TypeError) return { reason: "is not UTF-8" };
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { reason: REASONS[code] ?? `cannot be read (${message})` };
  }
}
