import { constants, open } from "node:fs/promises";
import { BridgeError } from "../../core/errors.ts";
import { explainFileFault } from "../../core/file-faults.ts";
import type { WorkspaceFiles } from "../../kernel/workspace-files.ts";
import type { InputFile, JobInputs } from "./job-inputs.ts";

/** As many bytes as travel at once. */
const PIECE_BYTES = 3 * 1024 * 1024;

/** Copies files into the sandbox. Rejects with `FILES_FAILED` where one cannot be read, or there is no room. */
export async function bringIn(
  inputs: JobInputs,
  workspace: WorkspaceFiles,
  signal: AbortSignal,
): Promise<void> {
  for (const folder of inputs.folders) await workspace.makeFolder(folder);
  for (const file of inputs.files) {
    if (signal.aborted) return; // the program will not run
    await workspace.write(file.path, readPieces(file));
  }
}

/** No more than the file had when it was looked at. */
async function* readPieces({ source, bytes, content }: InputFile): AsyncIterable<Uint8Array> {
  for (let at = 0; content !== undefined && at < bytes; at += PIECE_BYTES)
    yield content.subarray(at, at + PIECE_BYTES);
  if (content !== undefined) return;
  try {
    // The name may stand for something else by now.
    await using handle = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) throw new Error("it is no file any more");
    for (let offset = 0; offset < bytes; ) {
      const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, bytes - offset));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    const { what: reason } = explainFileFault(error);
    throw new BridgeError("FILES_FAILED", `${JSON.stringify(source)} could not be copied in: ${reason}`, {
      hint: "Make it readable for you, or leave it out.",
    });
  }
}
