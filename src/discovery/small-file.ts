import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

const MAX_BYTES = 64 * 1024;

/** The text of a file that a definition names, for a value; `undefined` where it is no file of at most 64 KiB that can be read. */
export function readSmallFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // a named pipe must not wait for a writer
    const stats = fstatSync(descriptor);
    return stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(descriptor, "utf8") : undefined;
  } catch {
    return undefined; // whoever asks says what is missing
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The variables of an `.env` file: `NAME=value`, quoted or not, with comments and `export`. */
export function parseEnvFile(text: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    const [, name, raw = ""] = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) variables.set(name, unquote(raw.trimEnd()));
  }
  return variables;
}

function unquote(raw: string): string {
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(raw)?.[1];
  if (double !== undefined) {
    return double.replace(/\\([nrt"\\$])/g, (_, c: string) => ({ n: "\n", r: "\r", t: "\t" })[c] ?? c);
  }
  const single = /^'([^']*)'/.exec(raw)?.[1];
  return single ?? raw.replace(/(^|\s)#.*$/, "").trimEnd();
}
