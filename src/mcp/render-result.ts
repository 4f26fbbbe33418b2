import { encode } from "@toon-format/toon";
import type { RunImage, RunResult } from "./python-runner.ts";

/** How the text of a result is written: for reading, or as one TOON block with everything in it. */
export type OutputMode = "compact" | "toon";

/** The same result for programs: only what is not empty, in the names of the wire. */
export interface StructuredResult {
  readonly status: "success" | "error" | "timeout" | "cancelled" | "validation_error";
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly result?: string;
  readonly error?: { readonly type: string; readonly message: string; readonly traceback?: string };
  readonly notes?: readonly string[];
  /** Output was left out between the head and the tail that are here. */
  readonly truncated?: true;
  /** The handle of a session other than the connection's own. */
  readonly session?: string;
  readonly durationMs?: number;
}

type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource";
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly text: string };
    };

/** What `tools/call` answers. */
export interface ToolAnswer {
  readonly content: ContentBlock[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: true;
  readonly [key: string]: unknown;
}

/** Renders how a run ended, for the model in `content` and for programs in `structuredContent`. */
export function renderRunResult(result: RunResult, mode: OutputMode): ToolAnswer {
  const structured = toStructured(result);
  const text = mode === "toon" ? encode(structured) : renderText(result);
  return answer(text, structured, isFailure(result), result.images.map(toBlock));
}

/** A failure before any code ran, that the model is to read and recover from. `type` is an error code. */
export function renderRefusal(
  status: "error" | "cancelled" | "validation_error",
  type: string,
  message: string,
): ToolAnswer {
  return answer(message, { status, error: { type, message: message.toWellFormed() } }, true, []);
}

/** For a client that has not read many others. */
export function withoutImages(answer: ToolAnswer): ToolAnswer {
  const content = answer.content.filter(({ type }) => type !== "image");
  const count = answer.content.length - content.length;
  if (count === 0) return answer;
  const what = count === 1 ? "1 image was" : `${count} images were`;
  const text = `[note] ${what} left out: the client has not read the results of earlier calls. Show them again.`;
  return { ...answer, content: [...content, { type: "text", text }] };
}

/** About how much memory an answer takes. */
export function charsOf({ content }: ToolAnswer): number {
  const chars = content.map((block) => {
    if (block.type === "text") return block.text.length * 2; // it is in the structured content too
    return block.type === "image" ? block.data.length : block.resource.text.length;
  });
  return chars.reduce((sum, each) => sum + each, 0);
}

function answer(
  text: string,
  structured: StructuredResult,
  isError: boolean,
  more: readonly ContentBlock[],
): ToolAnswer {
  return {
    content: [{ type: "text", text: text.toWellFormed() }, ...more],
    structuredContent: { ...structured },
    ...(isError ? { isError } : {}),
  };
}

function toStructured(result: RunResult): StructuredResult {
  const { error, exitCode, notes } = result;
  return {
    status: statusOf(result),
    ...(exitCode === null ? {} : { exitCode }),
    ...unlessEmpty("stdout", result.stdout),
    ...unlessEmpty("stderr", result.stderr),
    ...unlessEmpty("result", result.result),
    ...(error === null
      ? {}
      : {
          error: { type: error.ename, message: error.evalue, ...unlessEmpty("traceback", error.traceback) },
        }),
    ...(notes.length === 0 ? {} : { notes }),
    ...(result.truncated ? { truncated: true } : {}),
    ...(result.session === null ? {} : { session: result.session.handle }),
    durationMs: Math.round(result.durationMs),
  };
}

function unlessEmpty<K extends string>(key: K, text: string | null): { readonly [key in K]?: string } {
  return text === null || text === "" ? {} : ({ [key]: text.toWellFormed() } as { [key in K]: string });
}

function statusOf(result: RunResult): StructuredResult["status"] {
  if (result.status === "timeout" || result.status === "cancelled") return result.status;
  return isFailure(result) ? "error" : "success";
}

/** Models read raster images; the source of a drawing is text to them, and an image to clients that draw it. */
function toBlock({ mimeType, data }: RunImage, index: number): ContentBlock {
  if (mimeType !== "image/svg+xml") return { type: "image", data, mimeType };
  const text = Buffer.from(data, "base64").toString("utf8");
  return { type: "resource", resource: { uri: `sandpy://image/${index + 1}.svg`, mimeType, text } };
}

/** What the model reads: stdout as it is, the value, then what there is of stderr, traceback and notes. */
function renderText(result: RunResult): string {
  const parts = [result.stdout];
  if (result.result !== null) parts.push(result.result);
  if (result.stderr !== "") parts.push(`[stderr]\n${result.stderr}`);
  if (result.error !== null) parts.push(renderCodeError(result.error));
  parts.push(renderEnding(result));
  parts.push(...result.notes.map((note) => `[note] ${note}`));
  if (result.session?.isNew === true) parts.push(renderSession(result.session.handle));
  return joinLines(parts) || (result.images.length > 0 ? "(no output but what is shown)" : "(no output)");
}

/** Told once: a model that repeats it with each call needs no reminder. */
function renderSession(handle: string): string {
  return `[session] ${handle} keeps these variables: pass session="${handle}" to go on with them`;
}

function renderCodeError({ ename, evalue, traceback }: NonNullable<RunResult["error"]>): string {
  return traceback === "" ? `${ename}: ${evalue}` : traceback;
}

/** How a run ended that did not end by itself; where there are notes, they say it, and better. */
function renderEnding({ status, exitCode, notes }: RunResult): string {
  if (status === "exit") return `[exit] code ${exitCode ?? 0}`;
  return status === "ok" || status === "error" || notes.length > 0 ? "" : `[${status}]`;
}

function isFailure({ status, exitCode }: RunResult): boolean {
  return status === "exit" ? (exitCode ?? 0) !== 0 : status !== "ok";
}

/** Each part starts on a line of its own; stdout keeps its own ending. */
function joinLines(parts: readonly string[]): string {
  let text = "";
  for (const part of parts) {
    if (part === "") continue;
    text += text === "" || text.endsWith("\n") ? part : `\n${part}`;
  }
  return text;
}
