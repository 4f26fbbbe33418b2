import { type BigIntStats, constants } from "node:fs";
import { lstat, open, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Owner, removeFile, replaceFile } from "../../core/atomic-file.ts";
import { BridgeError } from "../../core/errors.ts";
import type { NewPiece, ProjectFile, ProjectList, ReadPiece } from "../../kernel/host-memory.ts";
import { fromSystem, refuse, shown, unavailable } from "../faults.ts";
import type { Locks } from "../locks.ts";
import type { CallerRoot } from "../root.ts";
import type { Usage } from "../usage.ts";
import type { EntryFiles } from "./entry-files.ts";
import { Folder } from "./folder.ts";
import { parseProjectPath } from "./paths.ts";
import { Stamp } from "./stamp.ts";
import { describeFile, readTree, versionOf } from "./tree.ts";

/** What others than this process change is seen after this at the latest, or after 20 times of what looking takes. */
const MAX_AGE_MS = 200;
const MAX_SHARE = 20;
const PIECE_BYTES = 3 * 1024 * 1024;
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** What systems say of a link, a file or something else where a folder was expected. */
const NO_FOLDER: ReadonlySet<string> = new Set(["ENOTDIR", "ELOOP"]);
const NOTHING: ProjectList = { state: "", files: [] };

/** The files of `/projects` of one caller, as the host keeps them. No link is followed, and no other kind of file opened. */
export class ProjectFiles {
  readonly #root: CallerRoot;
  readonly #usage: Usage;
  readonly #entries: EntryFiles;
  readonly #locks: Locks;
  readonly #stamp: Stamp;
  #known:
    | {
        readonly list: ProjectList;
        readonly changes: number;
        readonly stamp: string;
        readonly until: number;
      }
    | undefined;

  constructor(root: CallerRoot, usage: Usage, entries: EntryFiles, locks: Locks) {
    this.#root = root;
    this.#locks = locks;
    this.#usage = usage;
    this.#entries = entries;
    this.#stamp = new Stamp(root);
  }

  /** "" where nothing is kept; see {@link readTree}. Cheap: the folder is looked through again only now and then. */
  async state(): Promise<string> {
    const known = this.#known;
    const isFresh =
      known?.changes === this.#usage.changes &&
      performance.now() < known.until &&
      known.stamp === (await this.#stamp.take());
    return isFresh ? known.list.state : (await this.list()).state;
  }

  async list(): Promise<ProjectList> {
    const { changes } = this.#usage;
    const startedAt = performance.now();
    const stamp = await this.#stamp.take();
    const list = (await this.#root.check()) ? await readTree(this.#root.projects) : NOTHING;
    const now = performance.now();
    this.#known = { list, changes, stamp, until: now + Math.max(MAX_AGE_MS, (now - startedAt) * MAX_SHARE) };
    return list;
  }

  /** At most 3 MiB from `offset`. */
  async read({ path, offset }: { readonly path: string; readonly offset: number }): Promise<ReadPiece> {
    const parts = parseProjectPath(path);
    const place = join(this.#root.projects, ...parts);
    try {
      if (!(await this.#root.check())) throw missing(path);
      await using folder = await this.#folderOf(parts);
      if (folder === undefined) throw missing(path);
      const handle = await open(folder.at(basename(place)), READ_FLAGS);
      try {
        const facts = await handle.stat({ bigint: true });
        if (!facts.isFile()) throw refuse(`${shown(path)} is not a regular file`);
        const bytes = Number(facts.size);
        const piece = Buffer.alloc(Math.min(PIECE_BYTES, Math.max(bytes - offset, 0)));
        const { bytesRead } = await handle.read(piece, 0, piece.length, offset);
        const data = piece.toString("base64", 0, bytesRead);
        return { path, offset, data, bytes, version: versionOf(facts) };
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
    await using folder = await this.#folderOf(parts);
    const before = folder && (await look(folder, path));
    await this.#usage.admit(keeping(path), { before: before && Number(before.size), after: bytes });
  }

  /**
   * Replaces a file in one step, or leaves it alone and says "changed": see {@link HostMemory.writeProjectFile}. Memories and
   * saved tools are checked first: others read them.
   */
  async write(
    file: Pick<NewPiece, "path" | "base">,
    content: Buffer,
    signal: AbortSignal,
  ): Promise<ProjectFile | "changed" | null> {
    const parts = parseProjectPath(file.path);
    const place = join(this.#root.projects, ...parts);
    try {
      const owner = await this.#root.prepare();
      if (this.#entries.owns(parts)) return await this.#writeEntry(file, parts, content, signal);
      await using found = await this.#folderOf(parts);
      // No folders are made for what is refused.
      if (found === undefined)
        await this.#usage.admit(keeping(file.path), { before: undefined, after: content.length });
      await using folder = found ?? (await this.#enter(parts.slice(0, -1), { owner }));
      const before = await look(folder, file.path);
      const present = before && (await unlike(folder, before, file, content));
      if (present !== undefined) return present;
      const isNow = () => this.#isStill(folder, file);
      return await this.#replace({ file, folder, owner, before, isNow }, content, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      throw fromSystem(error, `keeping the file ${shown(file.path)}`, place);
    }
  }

  /** One that is not there is no fault. Folders that are empty then go with it. `false`: as "changed" of {@link write}. */
  async remove(file: Pick<NewPiece, "path" | "base">, signal: AbortSignal): Promise<boolean> {
    const { path } = file;
    const parts = parseProjectPath(path);
    if (!(await this.#root.check())) return true;
    const place = join(this.#root.projects, ...parts);
    try {
      await using folder = await this.#folderOf(parts);
      if (folder === undefined || (await look(folder, path)) === undefined) return true;
      const isNow = () => this.#isStill(folder, file);
      if (this.#entries.owns(parts)) return await this.#entries.remove(parts, isNow, signal);
      const isRemoved = await this.#alone(signal, async () => {
        const before = await look(folder, path);
        if (before === undefined) return true;
        if (versionOf(before) !== file.base) return false;
        if (await removeFile(folder.at(basename(path)))) this.#usage.changed(Number(before.size), undefined);
        return true;
      });
      if (!isRemoved) return false;
    } catch (error) {
      if (signal.aborted) throw error;
      throw fromSystem(error, `removing the file ${shown(path)}`, place);
    }
    await this.#removeFolders(parts.slice(0, -1));
    return true;
  }

  async #writeEntry(
    file: Pick<NewPiece, "path" | "base">,
    parts: readonly string[],
    content: Buffer,
    signal: AbortSignal,
  ): Promise<ProjectFile | "changed" | null> {
    await using folder = await this.#folderOf(parts);
    const before = folder && (await look(folder, file.path));
    const present = folder && before && (await unlike(folder, before, file, content));
    if (present !== undefined) return present;
    const isNow = async () => folder === undefined || this.#isStill(folder, file);
    if (!(await this.#entries.write(parts, content, isNow, signal))) return "changed";
    const facts = folder && (await look(folder, file.path));
    return facts === undefined ? null : describeFile(file.path, facts);
  }

  async #replace(
    { file: { path }, folder, owner, before, isNow }: Replacing,
    content: Buffer,
    signal: AbortSignal,
  ): Promise<ProjectFile | "changed"> {
    const growth = { before: before && Number(before.size), after: content.length };
    return this.#usage.grow(keeping(path), growth, async () => {
      let isPut = false;
      const put = (move: () => Promise<void>) =>
        this.#alone(signal, async () => {
          if (!(await isNow())) return;
          await move();
          isPut = true;
        });
      const facts = await replaceFile(folder.at(basename(path)), content, { owner, put });
      if (!isPut) return "changed";
      this.#usage.changed(growth.before, growth.after);
      return describeFile(path, facts);
    });
  }

  /** Whether the file is what it was to whoever replaces it; one that is gone meanwhile is nobody's loss. */
  async #isStill(folder: Folder, { path, base }: Pick<NewPiece, "path" | "base">): Promise<boolean> {
    const facts = await look(folder, path);
    return facts === undefined || versionOf(facts) === base;
  }

  /** Looking and putting in place are one step: for all sessions, and all bridges. */
  async #alone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const path = this.#root.lockFile("projects");
    const lock = await this.#locks.acquire(path, signal).catch((error: unknown) => {
      if (!(error instanceof BridgeError) || error.code !== "LIMIT_EXCEEDED") throw error;
      throw unavailable(
        `the files of /projects are being changed by somebody else, for more than ${this.#locks.waitMs / 1000} s now`,
        "Try again later.",
        error,
      );
    });
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  /** The folder that a file is in, `undefined` where it is not there. Rejects where one is no folder of the caller's. */
  async #folderOf(parts: readonly string[]): Promise<Folder | undefined> {
    try {
      return await this.#enter(parts.slice(0, -1));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async #enter(names: readonly string[], make?: { readonly owner: Owner | undefined }): Promise<Folder> {
    let folder = await Folder.open(this.#root.projects);
    for (const name of names) {
      await using outer = folder;
      folder = await outer.enter(name, make).catch((error: NodeJS.ErrnoException) => {
        if (!NO_FOLDER.has(error.code ?? "")) throw error;
        throw refuse(`${shown(names.join("/"))} cannot be used: ${shown(name)} is no folder on the host`);
      });
    }
    return folder;
  }

  /** Those that are empty, but for that of the memories. */
  async #removeFolders(names: readonly string[]): Promise<void> {
    for (let level = names.length; level > 0; level--) {
      if (level === 1 && names[0] === basename(this.#root.memories)) return;
      await using outer = await this.#enter(names.slice(0, level - 1)).catch(() => undefined);
      if (outer === undefined || !(await isRemoved(outer.at(names[level - 1] ?? "")))) return;
    }
  }
}

interface Replacing {
  readonly file: Pick<NewPiece, "path">;
  readonly folder: Folder;
  readonly owner: Owner | undefined;
  readonly before: BigIntStats | undefined;
  readonly isNow: () => Promise<boolean>;
}

function keeping(path: string): string {
  return `keeping the file ${shown(`/projects/${path}`)}`;
}

function missing(path: string) {
  return refuse(`there is no file ${shown(path)}`, "runtime.list_project_files() names those that are kept.");
}

/** A regular file, `undefined` where there is none. Rejects where something else is in its place. */
async function look(folder: Folder, path: string): Promise<BigIntStats | undefined> {
  let facts: BigIntStats;
  try {
    facts = await lstat(folder.at(basename(path)), { bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (facts.isFile()) return facts;
  const what = facts.isSymbolicLink()
    ? "a symbolic link"
    : facts.isDirectory()
      ? "a folder"
      : "no regular file";
  throw refuse(`the file ${shown(path)} cannot be kept: ${what} is in its place on the host`);
}

/** What to say where a file is not of the version to be replaced: it is kept already, or was changed by somebody else. */
async function unlike(
  folder: Folder,
  present: BigIntStats,
  { path, base }: Pick<NewPiece, "path" | "base">,
  content: Buffer,
): Promise<ProjectFile | "changed" | undefined> {
  if (versionOf(present) === base) return undefined;
  const isSame = present.size === BigInt(content.length) && (await holds(folder, path, content));
  return isSame ? describeFile(path, present) : "changed";
}

/** Whether a file of the same size holds the same. */
async function holds(folder: Folder, path: string, content: Buffer): Promise<boolean> {
  const handle = await open(folder.at(basename(path)), READ_FLAGS);
  try {
    if (!(await handle.stat()).isFile()) return false;
    const piece = Buffer.alloc(Math.min(PIECE_BYTES, content.length));
    for (let at = 0; at < content.length; ) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      if (bytesRead === 0 || !piece.subarray(0, bytesRead).equals(content.subarray(at, at + bytesRead)))
        return false;
      at += bytesRead;
    }
    return true;
  } finally {
    await handle.close();
  }
}

async function isRemoved(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false, // not empty
  );
}
