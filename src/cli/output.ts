import type { Writable } from "node:stream";
import type { Config } from "../config/config.ts";
import { explainFileFault } from "../core/file-faults.ts";
import { createLog, type Log } from "../core/log.ts";
import type { DiscoveryProblem } from "../discovery/server-definition.ts";
import type { CliIo } from "./context.ts";
import { printable } from "./printable.ts";

/** Prints the answer of a command, waits until the reader has it, and returns the exit code. */
export async function print(io: CliIo, text: string): Promise<number> {
  const error = await new Promise<Error | null | undefined>((resolve) => io.stdout.write(text, resolve));
  return isLoss(error) ? reportLoss(io, error) : 0;
}

/** The same for an answer that programs read. */
export function printJson(io: CliIo, value: unknown): Promise<number> {
  return print(io, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** The log of a command that says itself what went wrong: only who debugs wants to read of servers that start. */
export function createQuietLog({ logLevel, logFormat }: Config, { stderr }: CliIo): Log {
  return createLog(logLevel === "DEBUG" ? "DEBUG" : "ERROR", (line) => stderr.write(line), logFormat);
}

/** Says on stderr what is wrong with files of servers, and where asked for what was left out of them with reason. */
export function reportProblems(
  io: CliIo,
  problems: readonly DiscoveryProblem[],
  { notes }: { readonly notes: boolean },
): void {
  for (const { where, message, isNote } of problems) {
    if (notes || isNote !== true) io.stderr.write(`sandpy: ${printable(`${where}: ${message}`)}\n`);
  }
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
  io.stderr.write(`sandpy: the output is not complete: ${explainFileFault(error).what}\n`);
  return 1;
}

/** Whether output was lost; a reader that goes away has seen enough, as `head` has. */
export function isLoss(error: Error | null | undefined): error is Error {
  return error instanceof Error && !("code" in error && error.code === "EPIPE");
}
