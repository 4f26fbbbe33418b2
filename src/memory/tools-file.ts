import { replaceFile } from "../core/atomic-file.ts";
import { fromSystem, refuse, unavailable } from "./faults.ts";
import { MAX_TOOLS_BYTES } from "./limits.ts";
import { readPlainFile } from "./read-file.ts";
import type { CallerRoot } from "./root.ts";
import type { Usage } from "./usage.ts";

/** The file of saved tools of one caller. Who changes it must hold its lock. */
export class ToolsFile {
  readonly #root: CallerRoot;
  readonly #usage: Usage;

  constructor(root: CallerRoot, usage: Usage) {
    this.#root = root;
    this.#usage = usage;
  }

  /** Its text, "" where there is none. Rejects with `MEMORY_UNAVAILABLE` where it cannot be read. */
  async read(): Promise<string> {
    return (await this.#load())?.text ?? "";
  }

  /** Replaces it. Rejects with `MEMORY_REFUSED` where it is too large. */
  async write(source: string): Promise<void> {
    const after = Buffer.byteLength(source);
    if (after > MAX_TOOLS_BYTES) {
      throw refuse(
        `the saved tools would take ${after} bytes, more than the ${MAX_TOOLS_BYTES} allowed`,
        "Delete tools that are not needed, and keep data in memories or files.",
      );
    }
    const owner = await this.#root.prepare();
    const before = (await this.#load())?.bytes;
    await this.#usage.grow("saving the tools", { before, after }, async () => {
      try {
        await replaceFile(this.#root.toolsFile, source, { owner });
      } catch (error) {
        throw fromSystem(error, "saving the tools", this.#root.toolsFile);
      }
      this.#usage.changed(before, after);
    });
  }

  async #load() {
    if (!(await this.#root.check())) return undefined;
    const file = await readPlainFile(this.#root.toolsFile, MAX_TOOLS_BYTES);
    if (file === undefined || "text" in file) return file;
    throw unavailable(
      `the file of saved tools ${JSON.stringify(this.#root.toolsFile)} ${file.reason}`,
      "Nothing was changed. Repair that file or move it away.",
    );
  }
}
