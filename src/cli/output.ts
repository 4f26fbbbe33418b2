import type { Writable } from "node:stream";
import type { CliIo } from "./context.ts";

/** Prints the answer of a command, waits until the reader has it, and returns the exit code. */
export async function print(io: CliIo, text: string): Promise<number> {
  const error = await new Promise<Error | null | undefined>((resolve) => io.stdout.write(text, resolve));
  return isLoss(error) ? reportLoss(io, error) : 0;
}

/** Resolves when everything written to `stream` has left the process, or when nobody reads it any more. */
export function flush(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once("close", resolve).once("error", () => resolve());
    stream.write("", () => resolve());
  });
}

/** Says that output was lost, as on a full disk, and returns the exit code for it. */
export function reportLoss(io: CliIo, error: Error): 1 {
  io.stderr.write(`sandpy: the output is not complete: ${error.message}\n`);
  return 1;
}

/** Whether output was lost; a reader that goes away has seen enough, as `head` has. */
export function isLoss(error: Error | null | undefined): error is Error {
  return error instanceof Error && !("code" in error && error.code === "EPIPE");
}
