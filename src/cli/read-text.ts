import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { readBounded } from "../core/read-bounded.ts";
import { usage } from "./arguments.ts";

/** More than all that may be kept by default. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Reads UTF-8 text from a file, or from `stdin` for `-`. Throws `USAGE` where that cannot be. */
export async function readText(file: string, stdin: Readable): Promise<string> {
  const what = file === "-" ? "stdin" : JSON.stringify(file);
  const bytes = file === "-" ? await readAll(stdin, what) : await readFile(file, what);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${what} is not UTF-8 text`);
  }
}

async function readFile(file: string, what: string): Promise<Uint8Array> {
  try {
    await using handle = await open(file);
    return await readAll(handle.createReadStream(), what);
  } catch (error) {
    if (error instanceof Error && "code" in error && "syscall" in error) {
      throw usage(
        `${what} cannot be read (${String(error.code)})`,
        'Give the path of a file, or "-" for stdin.',
      );
    }
    throw error;
  }
}

async function readAll(stream: Readable, what: string): Promise<Uint8Array> {
  const bytes = await readBounded(stream, MAX_BYTES);
  if (bytes === undefined) throw usage(`${what} is longer than ${MAX_BYTES} bytes`);
  return bytes;
}
