import type { RunResult } from "../../src/mcp/python-runner.ts";

/** The result of a program that did nothing. */
export const NOTHING: RunResult = {
  status: "ok",
  stdout: "",
  stderr: "",
  result: null,
  error: null,
  exitCode: null,
  notes: [],
  images: [],
  truncated: false,
  durationMs: 0,
  session: null,
};
