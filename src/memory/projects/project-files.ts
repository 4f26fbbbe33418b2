import type { FilePiece, ProjectChanges, ProjectFile } from "../../kernel/host-memory.ts";
import { refuse } from "../faults.ts";

/** The files of `/projects`; nothing is kept yet but memories and saved tools, which have their own ways. */
export class ProjectFiles {
  async state(): Promise<string> {
    return "";
  }

  async changes(_since: string, _signal: AbortSignal): Promise<ProjectChanges> {
    return { state: "", changed: [], removed: [] };
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
