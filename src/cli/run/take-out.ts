import { createHash } from "node:crypto";
import { mkdir, open, readdir, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BridgeError } from "../../core/errors.ts";
import { explainFileFault } from "../../core/file-faults.ts";
import type { WorkspaceFiles } from "../../kernel/workspace-files.ts";
import { usage } from "../arguments.ts";
import { printable } from "../printable.ts";

/** Below `/workspace`: what a job leaves there comes back. */
export const OUT_FOLDER = "out";
const MANIFEST = "manifest.json";
const MAX_BYTES = 256 * 1024 * 1024; // twice what /workspace holds: holes count
const MAX_PATH_BYTES = 1024;
const MAX_NAME_BYTES = 255;

/** A file that came back. */
export interface OutputFile {
  /** Below the folder, with `/` between its parts. */
  readonly path: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

export interface TakenOut {
  readonly files: readonly OutputFile[];
  /** What did not come back, and why. */
  readonly notes: readonly string[];
}

/** Throws `USAGE` unless `folder` is empty, or not there yet: what a job leaves must never replace a file. */
export async function checkOutFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw usage(`--out ${JSON.stringify(folder)} is no folder that can be read (${error.code})`);
  });
  if (names.length === 0) return;
  throw usage(
    `--out ${JSON.stringify(folder)} is not empty`,
    "Empty it, or name another one: files of a job never replace others.",
  );
}

/**
 * Writes what a job left in `/workspace/out` to `folder`, and a list of it to `manifest.json` there, last. Names and
 * content are the job's: nothing but new regular files below the folder is written, none is executable, and all are
 * bounded. Rejects with `FILES_FAILED`.
 */
export async function takeOut(
  workspace: WorkspaceFiles,
  folder: string,
  signal: AbortSignal,
): Promise<TakenOut> {
  const listed = await workspace.list(OUT_FOLDER);
  const notes = listed.notes.map(([path, reason]) => describe(path, reason));
  const files: OutputFile[] = [];
  let left = MAX_BYTES;
  try {
    await mkdir(folder, { recursive: true });
    for (const { path } of listed.files) {
      const fault = faultOf(path);
      if (fault !== undefined) {
        notes.push(describe(path, fault));
        continue;
      }
      const file = await writeOut(workspace, folder, path, left, signal);
      if ("fault" in file) notes.push(describe(path, file.fault));
      else {
        files.push(file);
        left -= file.size;
      }
    }
    await writeFile(join(folder, MANIFEST), `${JSON.stringify({ files }, undefined, 2)}\n`, { flag: "wx" });
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    throw new BridgeError(
      "FILES_FAILED",
      `files of the job could not be written: ${explainFileFault(error).what}`,
      {
        hint: signal.aborted
          ? `${JSON.stringify(folder)} has ${files.length} of them, and no ${MANIFEST}.`
          : `Make room in ${JSON.stringify(folder)}, or name another folder with --out.`,
      },
    );
  }
  return { files, notes };
}

async function writeOut(
  workspace: WorkspaceFiles,
  folder: string,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<OutputFile | { readonly fault: string }> {
  const place = join(folder, path);
  try {
    await mkdir(dirname(place), { recursive: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTDIR") return { fault: "a file stands where its folder would be" };
    throw error;
  }
  const handle = await open(place, "wx", 0o644).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return undefined; // its name, on a disk that does not tell upper from lower case
    throw error;
  });
  if (handle === undefined) return { fault: "another file has that name here" };
  const hash = createHash("sha256");
  let size = 0;
  try {
    if (signal.aborted) throw stopped();
    for await (const piece of workspace.read(`${OUT_FOLDER}/${path}`, maxBytes + 1)) {
      if (signal.aborted) throw stopped(); // pieces may be small, and come slowly
      size += piece.length;
      if (size > maxBytes) break;
      hash.update(piece);
      await handle.writeFile(piece);
    }
  } catch (error) {
    await unlink(place).catch(() => undefined); // somebody was faster
    if (error instanceof BridgeError) return { fault: "it could not be read" };
    throw error;
  } finally {
    await handle.close();
  }
  if (size <= maxBytes) return { path, size, sha256: hash.digest("hex") };
  await unlink(place);
  return { fault: `there is no room for it: all together may have ${MAX_BYTES / 1024 ** 2} MiB` };
}

function stopped(): Error {
  return new Error("it was stopped, or took too long");
}

/** Why a path cannot be one of ours. */
function faultOf(path: string): string | undefined {
  if (path.toLowerCase() === MANIFEST) return "that is the name of the list of files";
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "its path leads elsewhere";
  if (/[\p{Cc}\p{Zl}\p{Zp}\\]/u.test(path)) return "its name has control characters or a backslash";
  const isLong =
    Buffer.byteLength(path) > MAX_PATH_BYTES ||
    parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES);
  return isLong ? "its name is too long" : undefined;
}

function describe(path: string, reason: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return printable(`not brought back: ${JSON.stringify(`out/${shown}`)}: ${reason}`);
}
