import type { Writable } from "node:stream";
import type { CliIo } from "./context.ts";

/** Prints the answer of a command and waits until the reader has it; the exit code of a success. */
export async function print(io: CliIo, text: string): Promise<0> {
  io.stdout.write(text);
  await flush(io.stdout);
  return 0;
}

/** Resolves when everything written to `stream` has left the process, or when nobody reads it any more. */
export function flush(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableEnded || stream.errored !== null) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once("close", resolve).once("error", () => resolve());
    stream.write("", () => resolve());
  });
}
