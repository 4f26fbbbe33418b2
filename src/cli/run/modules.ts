import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { usage } from "../arguments.ts";
import { type JobInputs, resolveWithin } from "./job-inputs.ts";

const MAX_MODULES = 1000;
const MAX_MODULE_BYTES = 4 * 1024 * 1024;
const MAX_LEVELS = 12;
const NOT_OURS = new Set(["__pycache__", "node_modules"]);

const IMPORTS = /^[ \t]*import[ \t]+([\w., \t]+)/gm;
const FROM_IMPORTS = /^[ \t]*from[ \t]+(\w+)[\w.]*[ \t]+import\b/gm;
const DYNAMIC_IMPORTS = /\b(?:import_module|__import__)\(\s*["'](\w+)/g;

/**
 * Adds a program and the modules beside it that it imports: `name.py`, or all `*.py` of the folder `name`, and what those
 * import in their turn. Only what is in the program's own folder is looked at. Returns what the program is called in the
 * sandbox; `undefined`, and nothing is added, where it is no regular file, as a pipe. Throws `USAGE` beyond bounds.
 */
export async function addProgram(inputs: JobInputs, file: string, code: string): Promise<string | undefined> {
  const source = await realpath(file);
  if (!(await stat(source)).isFile()) return undefined;
  const content = Buffer.from(code);
  inputs.addFile({ source, path: basename(file), bytes: content.length, content });
  await new Modules(inputs, await realpath(dirname(file))).addImportsOf(code);
  return `/workspace/${basename(file)}`;
}

class Modules {
  readonly #inputs: JobInputs;
  readonly #folder: string;
  readonly #seen = new Set<string>();
  #count = 0;

  constructor(inputs: JobInputs, folder: string) {
    this.#inputs = inputs;
    this.#folder = folder;
  }

  async addImportsOf(code: string): Promise<void> {
    for (const name of importedNames(code)) {
      if (this.#seen.has(name)) continue;
      this.#seen.add(name);
      await this.#addFolder(name, 1);
      await this.#addFile(`${name}.py`);
    }
  }

  async #addFolder(path: string, level: number): Promise<void> {
    const found = await resolveWithin(this.#folder, join(this.#folder, path));
    if (found?.facts.isDirectory() !== true || level > MAX_LEVELS) return;
    for (const entry of await readdir(found.source, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || NOT_OURS.has(entry.name)) continue;
      if (entry.isDirectory()) await this.#addFolder(`${path}/${entry.name}`, level + 1);
      else if (entry.name.endsWith(".py")) await this.#addFile(`${path}/${entry.name}`);
    }
  }

  async #addFile(path: string): Promise<void> {
    const found = await resolveWithin(this.#folder, join(this.#folder, path));
    if (found?.facts.isFile() !== true) return;
    const { source, facts } = found;
    this.#count += 1;
    if (this.#count > MAX_MODULES || facts.size > MAX_MODULE_BYTES) {
      throw usage(
        `${JSON.stringify(source)}: the program imports more than ${MAX_MODULES} modules, or one of more than ${MAX_MODULE_BYTES} bytes`,
        "Let the program see the folder where it is: --mount FOLDER:/src:ro --env PYTHONPATH=/src",
      );
    }
    this.#inputs.addFile({ source, path, bytes: facts.size });
    await this.addImportsOf(await readFile(source, "utf8"));
  }
}

/** The top-level names that a program may import; one too many does no harm. */
function importedNames(code: string): ReadonlySet<string> {
  const listed = [...code.matchAll(IMPORTS)].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.trim().split(/[.\s]/)[0] ?? ""),
  );
  const single = [FROM_IMPORTS, DYNAMIC_IMPORTS].flatMap((pattern) =>
    [...code.matchAll(pattern)].map(([, name = ""]) => name),
  );
  return new Set([...listed, ...single].filter((name) => name !== ""));
}
