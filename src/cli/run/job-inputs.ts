import type { Stats } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import { usage } from "../arguments.ts";

const MAX_FILES = 10_000;
const MAX_ENTRIES = 4 * MAX_FILES;
const MAX_BYTES = 128 * 1024 * 1024; // what /workspace holds

/** A file of the host that the job gets a copy of. */
export interface InputFile {
  /** On the host, without symbolic links. */
  readonly source: string;
  /** Below `/workspace`, with `/` between its parts. */
  readonly path: string;
  readonly bytes: number;
  /** What it holds, where that is known. */
  readonly content?: Uint8Array;
}

/** What is copied into the sandbox before a program runs. Adding more than it holds throws `USAGE`. */
export class JobInputs {
  /** What was left out, and why. */
  readonly notes: string[] = [];
  readonly #files = new Map<string, InputFile>();
  readonly #folders = new Set<string>();
  #bytes = 0;
  #entries = 0;

  get files(): readonly InputFile[] {
    return [...this.#files.values()];
  }

  get folders(): readonly string[] {
    return [...this.#folders];
  }

  /** Adds what `--in` names: a file or folder by its last name, or all that is in a folder for `.` and `folder/`. */
  async add(given: string): Promise<void> {
    const root = await realpath(given).catch(() => undefined);
    if (root === undefined) throw usage(`--in ${JSON.stringify(given)} does not exist`);
    const facts = await stat(root);
    if (facts.isFile()) this.addFile({ source: root, path: basename(resolve(given)), bytes: facts.size });
    else if (!facts.isDirectory())
      throw usage(`--in ${JSON.stringify(given)} is neither a file nor a folder`);
    else await this.#addFolder(root, root, /(^|[/\\])\.?$/.test(given) ? "" : basename(resolve(given)));
  }

  addFile(file: InputFile): void {
    const other = this.#files.get(file.path);
    if (other?.source === file.source) return;
    if (other !== undefined) {
      throw usage(
        `two files would be /workspace/${file.path}: ${JSON.stringify(other.source)} and ${JSON.stringify(file.source)}`,
      );
    }
    this.#files.set(file.path, file);
    this.#bytes += file.bytes;
    if (this.#files.size > MAX_FILES || this.#bytes > MAX_BYTES) {
      throw usage(
        `the files to copy in are more than ${MAX_FILES}, or than ${MAX_BYTES / 1024 ** 2} MiB`,
        "Name smaller folders with --in, or let the job see them where they are: --mount FOLDER:/data:ro",
      );
    }
  }

  async #addFolder(root: string, folder: string, path: string): Promise<void> {
    if (path !== "") this.#folders.add(path);
    for (const name of (await readdir(folder)).sort()) {
      this.#entries += 1;
      if (this.#entries > MAX_ENTRIES)
        throw usage(`${JSON.stringify(root)} has more than ${MAX_ENTRIES} entries to copy in`);
      await this.#addEntry(root, join(folder, name), path === "" ? name : `${path}/${name}`);
    }
  }

  async #addEntry(root: string, source: string, path: string): Promise<void> {
    const facts = await lstat(source).catch(() => undefined);
    if (facts === undefined) {
      // Removed meanwhile, or of a name that is no text: what is listed is not what it is called.
      if (source.includes("\ufffd")) this.#leaveOut(source, "has a name that is not UTF-8");
      return;
    }
    if (facts.isDirectory()) await this.#addFolder(root, source, path);
    else if (facts.isFile()) this.addFile({ source, path, bytes: facts.size });
    else if (facts.isSymbolicLink()) await this.#addLinked(root, source, path);
    else this.#leaveOut(source, "is no regular file");
  }

  /** A link may stand in for a file of the same folder: one that leads elsewhere would let a checkout take any file. */
  async #addLinked(root: string, link: string, path: string): Promise<void> {
    const found = await resolveWithin(root, link);
    if (found?.facts.isFile()) this.addFile({ source: found.source, path, bytes: found.facts.size });
    else this.#leaveOut(link, "is a symbolic link to no file of that folder");
  }

  #leaveOut(source: string, why: string): void {
    if (this.notes.length < 20) this.notes.push(`not copied in: ${JSON.stringify(source)} ${why}`);
  }
}

/** Where `path` leads, if that is in the folder `root`, which has no links in its own path. */
export async function resolveWithin(
  root: string,
  path: string,
): Promise<{ readonly source: string; readonly facts: Stats } | undefined> {
  try {
    const source = await realpath(path);
    if (source !== root && !source.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    return { source, facts: await stat(source) };
  } catch {
    return undefined; // it leads nowhere
  }
}
