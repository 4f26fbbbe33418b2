import { writeSync } from "node:fs";
import { type CliIo, STOP_SIGNALS, type StopSignal } from "./cli/context.ts";
import { runCli } from "./cli/run-cli.ts";

/** A program that does not react to the first signals ends at this one, cleaned up or not. */
const PATIENCE = 3;

/** What of the console writes, or counts and indents for what does. */
const PRINTING = [
  ...(["log", "info", "debug", "warn", "error", "trace", "assert", "dir", "dirxml", "table"] as const),
  ...(["group", "groupCollapsed", "groupEnd", "count", "countReset", "time", "timeLog", "timeEnd"] as const),
] as const;

const { stdin, stdout, stderr } = process;
const handlers = new Set<(signal: StopSignal) => void>();
let signals = 0;

// Stdout belongs to the protocol or the command's answer: what a dependency prints goes to stderr. What prints for it is
// made when one does, which hardly ever happens: each start would wait some milliseconds for it.
let printer: Pick<Console, (typeof PRINTING)[number]> | undefined;
for (const name of PRINTING) {
  console[name] = (...words: unknown[]) => {
    printer ??= new (process.getBuiltinModule("node:console").Console)(stderr, stderr);
    Reflect.apply(printer[name], printer, words);
  };
}

// A reader that goes away is no reason to crash; who writes listens too, and stops.
for (const stream of [stdout, stderr]) stream.on("error", () => undefined);

for (const name of Object.keys(STOP_SIGNALS) as StopSignal[]) {
  process.on(name, () => {
    if (++signals >= PATIENCE || handlers.size === 0) process.exit(128 + STOP_SIGNALS[name]);
    for (const handle of handlers) handle(name);
  });
}

const crash = (error: unknown) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  try {
    writeSync(2, `sandpy: internal error: ${text}\n`); // at once: no stream will be drained any more
  } catch {
    // stderr is gone as well
  }
  process.exit(1);
};
process.on("uncaughtException", crash);
process.on("unhandledRejection", crash);

const io: CliIo = {
  env: process.env,
  stdin,
  stdout,
  stderr,
  stdinIsTerminal: stdin.isTTY === true,
  selfPath: Bun.isStandaloneExecutable ? process.execPath : undefined,
  onStopSignal(handler) {
    handlers.add(handler);
    return () => handlers.delete(handler);
  },
};

// Commands have flushed what they printed; stdin would keep the process alive.
process.exit(await runCli(process.argv.slice(2), io));
