import { EXIT_CODES } from "../../core/errors.ts";

type Row = readonly [status: string, meaning: string];

const MEANINGS: Readonly<Record<number, string>> = {
  1: "a fault of Sandpy, a question that was answered with no, or a problem that doctor found",
  2: "the command line is wrong",
  3: "the settings are wrong, or the address cannot be listened on",
  4: "no container engine works, or the image is missing",
  5: "the sandbox did not start, or is gone",
  6: "an MCP server or a tool of it failed, is unknown, or may not be used",
  7: "what Python keeps cannot be read or changed",
};

/** What the exit codes mean, of all commands and of `sandpy run` beside. */
export const EXIT_STATUS: readonly Row[] = [
  ["0", "it did what it was asked for"],
  ...[...new Set(Object.values(EXIT_CODES))].sort().map((code): Row => [String(code), MEANINGS[code] ?? ""]),
  ["129, 130, 143", "stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM"],
];

/** The program's own exit code is that of `sandpy run`; these are the others. */
export const RUN_EXIT_STATUS: readonly Row[] = [
  ["1", "the program ended with an exception"],
  ["124", "it was stopped at its time limit"],
  ["137", "it was killed, as for want of memory"],
  ["141", "nobody reads its output any more"],
];
