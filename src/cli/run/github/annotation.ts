import { relative } from "node:path";
import type { BridgeError } from "../../../core/errors.ts";
import type { InputFile } from "../job-inputs.ts";
import type { JobResult } from "../job-result.ts";
import { remarks } from "../report.ts";

const MAX_CHARS = 4000;
const FRAME = /File "\/workspace\/([^"\n]{1,1000})", line (\d{1,9})/g;

/** The line by which GitHub shows how a job failed, at the line of the program where that is known; none for one that did not. */
export function annotationOf(
  result: JobResult,
  files: readonly InputFile[],
  folder: string,
): string | undefined {
  if (result.exitCode === 0 || result.outcome.status === "cancelled") return undefined;
  const { error, status, exitCode } = result.outcome;
  if (error !== null) {
    const place = placeOf(error.traceback, files, folder);
    return command({ ...place, title: error.ename }, error.evalue || error.ename);
  }
  const words =
    remarks(result).join("\n") || `the program ended with exit code ${exitCode ?? result.exitCode}`;
  return command({ title: `sandpy run: ${status}` }, words);
}

/** The same for a job that could not run. */
export function faultAnnotation({ code, message, hint }: BridgeError): string {
  return command({ title: `sandpy: ${code}` }, hint === undefined ? message : `${message}\n${hint}`);
}

/** The innermost frame that is in a file of ours: what the traceback names is the program's own word. */
function placeOf(
  traceback: string,
  files: readonly InputFile[],
  folder: string,
): { readonly file?: string; readonly line?: string } {
  for (const [, path, line = ""] of [...traceback.matchAll(FRAME)].reverse()) {
    const found = files.find((file) => file.path === path);
    if (found !== undefined) return { file: relative(folder, found.source), line };
  }
  return {};
}

function command(properties: Readonly<Record<string, string>>, message: string): string {
  const pairs = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(value)}`);
  return `::error ${pairs.join(",")}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  const cut = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).toWellFormed()}…` : text;
  return cut.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
