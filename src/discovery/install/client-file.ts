import { constants } from "node:fs";
import { access, lstat, mkdir, open, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { removeFile, replaceFile } from "../../core/atomic-file.ts";
import { BridgeError } from "../../core/errors.ts";
import { explainFileFault } from "../../core/file-faults.ts";

/** As much as discovery reads of a file. */
const MAX_BYTES = 8 * 1024 ** 2;
const BACKUP_ENDING = ".sandpy-backup";
const BOM = "\uFEFF";
const NEW_MODE = 0o600;

/** A file of a client, as it was when it was read. */
export interface ClientFile {
  /** As the client names it. */
  readonly path: string;
  /** Where links lead. */
  readonly realPath: string;
  /** Without its byte order mark; empty where the file does not exist. */
  readonly text: string;
  readonly hasBom: boolean;
  /** `undefined`: it does not exist. */
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
  /** What was put aside when we first changed the file. */
  readonly backup: Uint8Array | undefined;
}

/** What becomes of the file that was put aside: it is made anew, left alone, or goes. */
export type BackupFate = "make" | "keep" | "remove";

/**
 * Reads a file that is to be changed. Throws `CONFIG_INVALID` where it cannot be, or should not: too large, not text, read-only,
 * somebody else's, a link to nothing.
 */
export async function loadClientFile(path: string): Promise<ClientFile> {
  const realPath = await followLinks(path);
  const backup = await readBytes(`${path}${BACKUP_ENDING}`).catch(() => undefined); // none, or not ours to see
  if (realPath === undefined) {
    await checkFolder(path);
    return { path, realPath: path, text: "", hasBom: false, bytes: undefined, mode: NEW_MODE, backup };
  }
  const facts = await stat(realPath);
  if (!facts.isFile()) throw refuse(path, "is not a file");
  if (facts.size > MAX_BYTES)
    throw refuse(path, `has ${facts.size} bytes, more than the ${MAX_BYTES} that are read`);
  if (isForeign(facts.uid)) {
    throw refuse(path, "belongs to another user", "Type the same as the user whom it belongs to.");
  }
  const isWritable =
    (facts.mode & 0o200) !== 0 && (await mayWrite(realPath)) && (await mayWrite(dirname(realPath)));
  if (!isWritable) {
    const hint = `Make it and its folder writable, or change it where it is made: sandpy install --dry-run shows how.`;
    throw refuse(path, "is read-only", hint);
  }
  const bytes = await readBytes(realPath).catch((error: Error) => {
    throw refuse(path, `cannot be read: ${error.message}`);
  });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refuse(path, "is not UTF-8 text", "Save it as UTF-8.");
  }
  const hasBom = text.startsWith(BOM);
  const mode = facts.mode & 0o777;
  return { path, realPath, text: hasBom ? text.slice(1) : text, hasBom, bytes, mode, backup };
}

/**
 * Writes another text in one step, with the file's mode, where links lead, and puts the old one aside; `undefined` removes
 * the file. Throws `CONFIG_INVALID` where somebody has changed the file since it was read, which stays as it is then.
 */
export async function saveClientFile(
  file: ClientFile,
  text: string | undefined,
  fate: BackupFate,
): Promise<void> {
  const bytes = text === undefined ? undefined : new TextEncoder().encode(`${file.hasBom ? BOM : ""}${text}`);
  await write(file, bytes, fate);
}

async function write(file: ClientFile, bytes: Uint8Array | undefined, fate: BackupFate): Promise<void> {
  const { path, realPath, mode } = file;
  try {
    const present = await readBytes(realPath).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (!isSame(present, file.bytes)) {
      throw refuse(path, "was changed by another program meanwhile", "Type the same again.");
    }
    await mkdir(dirname(realPath), { recursive: true, mode: 0o700 });
    if (fate === "make" && present !== undefined)
      await replaceFile(`${path}${BACKUP_ENDING}`, present, { mode });
    if (bytes === undefined) await removeFile(realPath);
    else await replaceFile(realPath, bytes, { mode, isNew: present === undefined });
    if (fate === "remove") await removeFile(`${path}${BACKUP_ENDING}`);
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    throw refuse(path, `cannot be written: ${explainFileFault(error).what}`);
  }
}

/** `undefined` where there is nothing. */
async function followLinks(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw refuse(path, `cannot be read: ${message}`);
    if (code === "ENOTDIR") throw refuse(path, "lies below a file");
    const link = await lstat(path).catch(() => undefined); // nothing at all
    if (link === undefined) return undefined;
    throw refuse(path, "is a link that leads nowhere", "Remove the link, or make the file that it leads to.");
  }
}

/** A file is only made in a folder that is the user's own, or will be. */
async function checkFolder(path: string): Promise<void> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const facts = await stat(folder).catch(() => undefined); // not there yet, or a link to nothing
    if (facts === undefined && folder !== dirname(folder)) continue;
    if (facts?.isDirectory() !== true)
      throw refuse(path, `cannot be made: ${JSON.stringify(folder)} is no folder`);
    if (isForeign(facts.uid))
      throw refuse(path, `cannot be made: ${JSON.stringify(folder)} belongs to another user`);
    if (!(await mayWrite(folder)))
      throw refuse(path, `cannot be made: ${JSON.stringify(folder)} is read-only`);
    return;
  }
}

async function readBytes(path: string): Promise<Uint8Array> {
  // A pipe in its place must not make the program wait for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes`);
    return new Uint8Array(await handle.readFile());
  } finally {
    await handle.close();
  }
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return Buffer.compare(one, other) === 0;
}

function isForeign(uid: number): boolean {
  return uid !== (process.geteuid?.() ?? uid);
}

function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** An error about a client's file. Nothing was written when it is thrown. */
export function refuse(
  path: string,
  why: string,
  hint = "Nothing was written. Correct that, and type the same again.",
): BridgeError {
  return new BridgeError("CONFIG_INVALID", `${JSON.stringify(path)} ${why}`, { hint });
}
