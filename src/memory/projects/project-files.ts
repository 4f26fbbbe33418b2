import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { giveTo, removeFile, replaceFile } from "../../core/atomic-file.ts";
import type { FilePiece, ProjectFile, ProjectList } from "../../kernel/host-memory.ts";
import { fromSystem, refuse, shown } from "../faults.ts";
import type { CallerRoot } from "../root.ts";
import type { Usage } from "../usage.ts";
import type { EntryFiles } from "./entry-files.ts";
import { parseProjectPath } from "./paths.ts";
import { describeFile, readTree } from "./tree.ts";

/** What others than this process change is seen after this at the latest, or after 20 times of what looking takes. */
const MAX_AGE_MS = 200;
const MAX_SHARE = 20;
const PIECE_BYTES = 3 * 1024 * 1024;
const NOTHING: ProjectList = { state: "", files: [] };

/** The files of `/projects` of one caller, as the host keeps them. No link is followed, and no other kind of file opened. */
export class ProjectFiles {
  readonly #root: CallerRoot;
  readonly #usage: Usage;
  readonly #entries: EntryFiles;
  #known:
    | {
        readonly list: ProjectList;
        readonly changes: number;
        readonly stamp: string;
        readonly until: number;
      }
    | undefined;

  constructor(root: CallerRoot, usage: Usage, entries: EntryFiles) {
    this.#root = root;
    this.#usage = usage;
    this.#entries = entries;
  }

  /** "" where nothing is kept; see {@link readTree}. Cheap: the folder is looked through again only now and then. */
  async state(): Promise<string> {
    const known = this.#known;
    const isFresh =
      known?.changes === this.#usage.changes &&
      performance.now() < known.until &&
      known.stamp === (await this.#stamp());
    return isFresh ? known.list.state : (await this.list()).state;
  }

  /** Changes at once with what another bridge saves: a memory, a tool, a file at the top. */
  async #stamp(): Promise<string> {
    const { projects, memories, toolsFile } = this.#root;
    const facts = [projects, memories, toolsFile].map((path) =>
      lstat(path, { bigint: true }).catch(() => undefined),
    );
    return (await Promise.all(facts))
      .map((one) => (one === undefined ? "-" : `${one.ino}-${one.mtimeNs}`))
      .join();
  }

  async list(): Promise<ProjectList> {
    const { changes } = this.#usage;
    const startedAt = performance.now();
    const stamp = await this.#stamp();
    const list = (await this.#root.check()) ? await readTree(this.#root.projects) : NOTHING;
    const now = performance.now();
    this.#known = { list, changes, stamp, until: now + Math.max(MAX_AGE_MS, (now - startedAt) * MAX_SHARE) };
    return list;
  }

  /** At most 3 MiB from `offset`. */
  async read({ path, offset }: { readonly path: string; readonly offset: number }): Promise<FilePiece> {
    const parts = parseProjectPath(path);
    const place = join(this.#root.projects, ...parts);
    try {
      if (!(await this.#root.check())) throw missing(path);
      await this.#checkFolders(parts);
      const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const facts = await handle.stat();
        if (!facts.isFile()) throw refuse(`${shown(path)} is not a regular file`);
        const piece = Buffer.alloc(Math.min(PIECE_BYTES, Math.max(facts.size - offset, 0)));
        const { bytesRead } = await handle.read(piece, 0, piece.length, offset);
        return { path, offset, data: piece.subarray(0, bytesRead).toString("base64") };
      } finally {
        await handle.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") throw missing(path);
      throw fromSystem(error, `reading the file ${shown(path)}`, place);
    }
  }

  /** Says whether a file of that size may be kept there. Rejects with `MEMORY_REFUSED` where it may not. */
  async admit(path: string, bytes: number): Promise<void> {
    const parts = parseProjectPath(path);
    if (!(await this.#root.check())) await this.#root.prepare();
    const before = await this.#find(path, parts);
    await this.#usage.admit(`keeping the file ${shown(`/projects/${path}`)}`, { before, after: bytes });
  }

  /** Replaces a file in one step. Memories and saved tools are checked first: others read them. */
  async write(path: string, content: Buffer, signal: AbortSignal): Promise<ProjectFile | null> {
    const parts = parseProjectPath(path);
    const place = join(this.#root.projects, ...parts);
    if (this.#entries.owns(parts)) await this.#entries.write(parts, content, signal);
    else await this.#write(path, parts, content);
    const facts = await lstat(place, { bigint: true }).catch(() => undefined); // somebody removed it already
    return facts === undefined ? null : describeFile(path, facts);
  }

  /** One that is not there is no fault. Folders that are empty then go with it. */
  async remove(path: string, signal: AbortSignal): Promise<void> {
    const parts = parseProjectPath(path);
    if (!(await this.#root.check())) return;
    const before = await this.#find(path, parts);
    if (before === undefined) return;
    if (this.#entries.owns(parts)) {
      await this.#entries.remove(parts, signal);
      return;
    }
    const place = join(this.#root.projects, ...parts);
    try {
      if (await removeFile(place)) this.#usage.changed(before, undefined);
    } catch (error) {
      throw fromSystem(error, `removing the file ${shown(path)}`, place);
    }
    for (let folder = dirname(place); folder !== this.#root.projects; folder = dirname(folder)) {
      if (folder === this.#root.memories || !(await isRemoved(folder))) return;
    }
  }

  async #write(path: string, parts: readonly string[], content: Buffer): Promise<void> {
    const place = join(this.#root.projects, ...parts);
    const owner = await this.#root.prepare();
    try {
      const before = await this.#find(path, parts);
      const after = content.length;
      await this.#usage.admit(`keeping the file ${shown(`/projects/${path}`)}`, { before, after });
      let folder = this.#root.projects;
      for (const part of parts.slice(0, -1)) {
        folder = join(folder, part);
        if ((await mkdir(folder, { mode: 0o700, recursive: true })) !== undefined) {
          await chmod(folder, 0o700);
          await giveTo(folder, owner);
        }
      }
      await replaceFile(place, content, { owner });
      this.#usage.changed(before, after);
    } catch (error) {
      throw fromSystem(error, `keeping the file ${shown(path)}`, place);
    }
  }

  /** The size of a regular file, `undefined` where there is none. Rejects where something else is in its place. */
  async #find(path: string, parts: readonly string[]): Promise<number | undefined> {
    const place = join(this.#root.projects, ...parts);
    if (!(await this.#checkFolders(parts))) return undefined;
    const facts = await look(place);
    if (facts === undefined || facts.isFile()) return facts?.size;
    const what = facts.isSymbolicLink()
      ? "a symbolic link"
      : facts.isDirectory()
        ? "a folder"
        : "no regular file";
    throw refuse(`the file ${shown(path)} cannot be kept: ${what} is in its place on the host`);
  }

  /** Whether the folders of a path are all there. Rejects where one is no folder of the caller's. */
  async #checkFolders(parts: readonly string[]): Promise<boolean> {
    let folder = this.#root.projects;
    for (const part of parts.slice(0, -1)) {
      folder = join(folder, part);
      const facts = await look(folder);
      if (facts === undefined) return false;
      if (!facts.isDirectory())
        throw refuse(`${shown(parts.join("/"))} cannot be used: ${shown(part)} is no folder on the host`);
    }
    return true;
  }
}

function missing(path: string) {
  return refuse(`there is no file ${shown(path)}`, "runtime.list_project_files() names those that are kept.");
}

async function look(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fromSystem(error, "looking at what is kept", path);
  }
}

async function isRemoved(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false, // not empty
  );
}
