import { randomUUID } from "node:crypto";
import { mkdir, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { explainFileFault } from "../../core/file-faults.ts";
import type { ToolResult } from "../../kernel/host-tools.ts";
import { usage } from "../arguments.ts";

/** What a result is to whoever reads it in a terminal or a pipe. */
export interface ToolAnswer {
  /** Ends with a new line, unless it is empty. */
  readonly text: string;
  /** Images, sounds and files, in their order. */
  readonly attachments: readonly Attachment[];
}

/** `type` as the server names it, which may be nothing that there is. */
export interface Attachment {
  readonly what: "image" | "audio" | "resource";
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly uri: string | undefined;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  jpeg: "jpg",
  "svg+xml": "svg",
  mpeg: "mp3",
  "x-wav": "wav",
  plain: "txt",
  "octet-stream": "bin",
};

/** Reads a `CallToolResult`, of which nothing is believed. Structured content is the text of a result that has none. */
export function readAnswer(result: ToolResult): ToolAnswer {
  const blocks = (Array.isArray(result["content"]) ? (result["content"] as unknown[]) : []).map(readBlock);
  const texts = blocks.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const structured = result["structuredContent"];
  if (texts.length === 0 && structured !== undefined) texts.push(JSON.stringify(structured, undefined, 2));
  const attachments = blocks.flatMap(({ attachment }) => (attachment === undefined ? [] : [attachment]));
  return { text: texts.map((text) => (text.endsWith("\n") ? text : `${text}\n`)).join(""), attachments };
}

interface ReadBlock {
  readonly text?: string;
  readonly attachment?: Attachment;
}

function readBlock(block: unknown): ReadBlock {
  const { type, text, data, mimeType, resource, uri } = recordOf(block);
  if (type === "text" && typeof text === "string") return { text };
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return { attachment: attach(type, data, mimeType, undefined) };
  }
  if (type === "resource_link" && typeof uri === "string") return { text: uri };
  if (type === "resource") {
    const inner = recordOf(resource);
    if (typeof inner["text"] === "string") return { text: inner["text"] };
    if (typeof inner["blob"] === "string") {
      return { attachment: attach("resource", inner["blob"], inner["mimeType"], inner["uri"]) };
    }
  }
  return { text: JSON.stringify(block) ?? "" }; // a kind of a later revision
}

function attach(what: Attachment["what"], data: string, type: unknown, uri: unknown): Attachment {
  return {
    what,
    type: typeof type === "string" ? type : "application/octet-stream",
    bytes: Buffer.from(data, "base64"),
    uri: typeof uri === "string" ? uri : undefined,
  };
}

/**
 * Writes attachments into a folder, made if need be, and returns their paths. No name comes from the server, and no file
 * that is there is touched. Throws `USAGE` where that cannot be.
 */
export async function saveAttachments(
  attachments: readonly Attachment[],
  folder: string,
): Promise<readonly string[]> {
  const stem = randomUUID().slice(0, 8);
  const paths: string[] = [];
  try {
    await mkdir(folder, { recursive: true });
    for (const [index, { what, type, bytes }] of attachments.entries()) {
      const path = join(folder, `${what}-${stem}-${index + 1}.${extensionOf(type)}`);
      await writeWhole(path, bytes);
      paths.push(path);
    }
    return paths;
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw usage(
      `${JSON.stringify(folder)} cannot be written to (${explainFileFault(error).what})`,
      "Give another folder with --save=<folder>. The call has been made.",
    );
  }
}

/** Leaves no half of one behind. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "wx");
  try {
    await handle.writeFile(bytes);
  } catch (error) {
    await unlink(path).catch(() => undefined); // somebody was faster
    throw error;
  } finally {
    await handle.close();
  }
}

function extensionOf(type: string): string {
  const subtype = /^[\w.+-]+\/([\w.+-]{1,40})/.exec(type)?.[1]?.toLowerCase() ?? "";
  return EXTENSIONS[subtype] ?? (/^[a-z0-9]{1,10}$/.test(subtype) ? subtype : "bin");
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
