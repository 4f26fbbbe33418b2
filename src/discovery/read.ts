import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename, extname } from "node:path";
import { type ConfigDocument, FormatError, type ParseText } from "./formats/document.ts";
import { parseJson } from "./formats/json.ts";
import type { DiscoveryProblem } from "./server-definition.ts";

/** Claude Code keeps its history beside its servers. */
const MAX_FILE_BYTES = 8 * 1024 ** 2;
const NONBLOCKING_READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** What reading a file gives; `missing` and `empty` ones hold no servers and are no fault in themselves. */
export type ReadOutcome =
  | { readonly kind: "document"; readonly document: ConfigDocument }
  | { readonly kind: "missing" | "empty" }
  | { readonly kind: "problem"; readonly problem: DiscoveryProblem };

/** A format of files; its parser is loaded when the first such file is met. */
interface Format {
  readonly name: string;
  load(): ParseText | Promise<ParseText>;
}

const JSON_FORMAT: Format = { name: "JSON", load: () => parseJson };
const YAML_FORMAT: Format = {
  name: "YAML",
  load: async () => (await import("./formats/yaml.ts")).parseYaml,
};
const TOML_FORMAT: Format = {
  name: "TOML",
  load: async () => (await import("./formats/toml.ts")).parseToml,
};
const CRUSHRC_FORMAT: Format = {
  name: "Bash",
  load: async () => (await import("./formats/crushrc.ts")).parseCrushrc,
};
const BY_EXTENSION: Readonly<Record<string, Format>> = {
  ".toml": TOML_FORMAT,
  ".yaml": YAML_FORMAT,
  ".yml": YAML_FORMAT,
};

/**
 * Reads a configuration file, whose name tells its format. `takeBytes` is asked whether a file of so many bytes may be
 * read beside all others.
 */
export async function readConfigFile(
  file: string,
  takeBytes: (count: number) => boolean = () => true,
): Promise<ReadOutcome> {
  try {
    return await parseConfigText(file, await readText(file, takeBytes));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    return problem(file, `cannot be read: ${code === "EACCES" ? "permission denied" : message}`);
  }
}

/** As {@link readConfigFile}, for text that is there already; `name` stands for the file. */
export async function parseConfigText(name: string, text: string): Promise<ReadOutcome> {
  if (text.trim() === "") return { kind: "empty" };
  const format = formatOf(name);
  try {
    const parse = await format.load();
    const document = await parse(name, text);
    return document.value === undefined || document.value === null
      ? { kind: "empty" }
      : { kind: "document", document };
  } catch (error) {
    if (error instanceof RangeError)
      return problem(name, `is not valid ${format.name}: it is nested too deeply`);
    if (!(error instanceof FormatError)) throw error;
    const where =
      error.position === undefined ? name : `${name}:${error.position.line}:${error.position.column}`;
    // Dotfile managers keep templates under the names of the files that they make.
    const excuse = /\{%|\{\{/.test(text) ? "; it looks like a template, which is not filled in" : "";
    return problem(where, `is not valid ${format.name}: ${error.message}${excuse}`);
  }
}

function formatOf(file: string): Format {
  if (/^\.?crushrc$/.test(basename(file))) return CRUSHRC_FORMAT;
  return BY_EXTENSION[extname(file).toLowerCase()] ?? JSON_FORMAT;
}

async function readText(file: string, takeBytes: (count: number) => boolean): Promise<string> {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const handle = await open(file, NONBLOCKING_READ);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("it is not a file");
    if (stats.size > MAX_FILE_BYTES) {
      throw new Error(
        `it has ${stats.size} bytes, more than the ${MAX_FILE_BYTES} that a configuration may have`,
      );
    }
    if (!takeBytes(stats.size)) throw new Error("the files before it are too large together");
    const bytes = await handle.readFile();
    return decode(bytes);
  } catch (error) {
    throw error instanceof TypeError ? new Error("it is not UTF-8 text") : error;
  } finally {
    await handle.close();
  }
}

/** PowerShell writes UTF-16 where nobody tells it not to, with a mark at the beginning. */
function decode(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8", { fatal: true }).decode(bytes);
}

function problem(where: string, message: string): ReadOutcome {
  return { kind: "problem", problem: { where, message } };
}
