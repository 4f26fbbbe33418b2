import { lstat } from "node:fs/promises";
import type { FilePiece, ProjectChanges, ProjectFile } from "../../kernel/host-memory.ts";
import { refuse } from "../faults.ts";
import type { CallerRoot } from "../root.ts";

/** The files of `/projects`; nothing is kept yet but memories and saved tools, which have their own ways. */
export class ProjectFiles {
  readonly #root: CallerRoot;

  constructor(root: CallerRoot) {
    this.#root = root;
  }

  /** Changes with the file of saved tools, whoever writes it: one that replaces it is another file. */
  async state(): Promise<string> {
    const facts = await lstat(this.#root.toolsFile, { bigint: true }).catch(() => undefined);
    return facts === undefined ? "" : `${facts.ino}-${facts.mtimeNs}-${facts.size}`;
  }

  async changes(_since: string, _signal: AbortSignal): Promise<ProjectChanges> {
    return { state: await this.state(), changed: [], removed: [] };
  }

  async read(file: { readonly path: string; readonly offset: number }): Promise<FilePiece> {
    throw refuse(`there is no file ${JSON.stringify(file.path)}`);
  }

  async write(piece: FilePiece & { readonly total: number }): Promise<ProjectFile | null> {
    throw refuse(`the file ${JSON.stringify(piece.path)} cannot be kept`);
  }

  async remove(path: string): Promise<void> {
    throw refuse(`there is no file ${JSON.stringify(path)}`);
  }
}
