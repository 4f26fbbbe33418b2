import { createLog, type Log, type LogLevel } from "../../src/core/log.ts";

/** A log that keeps its lines, for tests that read them. */
export function createMemoryLog(level: LogLevel = "DEBUG"): Log & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  return { ...createLog(level, (line) => lines.push(line)), lines };
}
