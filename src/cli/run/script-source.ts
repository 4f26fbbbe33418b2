import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { explainFileFault } from "../../core/file-faults.ts";
import { readBounded } from "../../core/read-bounded.ts";
import { usage } from "../arguments.ts";

/** The longest program, as for the tool. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;

const HINT = 'Give the path of a Python file, or "-" for stdin.';
const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  ENAMETOOLONG: "does not exist",
  EISDIR: "is a directory",
  EACCES: "may not be read",
  EPERM: "may not be read",
};

/** A program to run, and what its tracebacks call it. */
export interface ScriptSource {
  readonly code: string;
  readonly filename: string;
}

/** Reads the program: `code` itself, the host's `file`, or `stdin` where that is `-`. Throws `USAGE` where there is none to run. */
export async function readProgram(
  { file, code }: { readonly file: string | undefined; readonly code: string | undefined },
  stdin: Readable,
): Promise<ScriptSource> {
  if (file === undefined) return { code: code ?? "", filename: "<string>" };
  if (file === "-") return { code: decode(await readAll(stdin, "stdin"), "stdin"), filename: "<stdin>" };
  return { code: decode(await readFile(file), quoted(file)), filename: file };
}

async function readFile(file: string): Promise<Uint8Array> {
  try {
    await using handle = await open(file);
    return await readAll(handle.createReadStream(), quoted(file));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code !== "string") throw error;
    const why = UNREADABLE[code] ?? `cannot be read: ${explainFileFault(error).what}`;
    throw usage(`${quoted(file)} ${why}`, HINT);
  }
}

async function readAll(stream: Readable, what: string): Promise<Uint8Array> {
  const bytes = await readBounded(stream, MAX_SCRIPT_BYTES);
  if (bytes !== undefined) return bytes;
  throw usage(`${what} is longer than ${MAX_SCRIPT_BYTES} bytes: expected a program, not data`, HINT);
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${what} is not UTF-8 text: expected Python source`, HINT);
  }
}

function quoted(file: string): string {
  return JSON.stringify(file);
}
