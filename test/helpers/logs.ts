import { createLog, type Log } from "../../src/core/log.ts";

/** A log that keeps its lines, for tests that read them. */
export function createMemoryLog(): Log & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  return { ...createLog("DEBUG", (line) => lines.push(line)), lines };
}
