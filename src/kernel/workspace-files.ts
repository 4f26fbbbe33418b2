import { z } from "zod";
import { BridgeError } from "../core/errors.ts";
import type { Kernel } from "./kernel.ts";

/** Bytes of a file that travel at once. */
export const PIECE_BYTES = 3 * 1024 * 1024;
const MAX_FILES = 10_000;
const MAX_PATH_CHARS = 8192;
const ASK_DEADLINE_MS = 20_000;

const listedSchema = z.object({
  files: z
    .array(z.object({ path: z.string().min(1).max(MAX_PATH_CHARS), bytes: z.int().nonnegative() }))
    .max(MAX_FILES),
  notes: z.array(z.tuple([z.string().max(MAX_PATH_CHARS), z.string().max(1024)])).max(1000),
});
const pieceSchema = z.object({ data: z.string().max(Math.ceil(PIECE_BYTES / 3) * 4) });

/** The regular files of a folder of the sandbox, and why others are not among them: `[path, reason]`. */
export type ListedFiles = z.infer<typeof listedSchema>;

/**
 * The files of a sandbox's `/workspace`, for a time when no user code runs. Paths are relative to it. Everything that
 * comes from there is untrusted: names can be anything. All reject with `FILES_FAILED`.
 */
export class WorkspaceFiles {
  readonly #kernel: Pick<Kernel, "ask">;

  constructor(kernel: Pick<Kernel, "ask">) {
    this.#kernel = kernel;
  }

  /** Writes a file that is not there yet, with the folders that it is in; `pieces` are of at most {@link PIECE_BYTES}. */
  async write(path: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    let offset = 0;
    for await (const piece of pieces) {
      await this.#writePiece(path, offset, piece);
      offset += piece.length;
    }
    if (offset === 0) await this.#writePiece(path, 0, new Uint8Array());
  }

  async makeFolder(path: string): Promise<void> {
    await this.#ask("make_folder", path, {});
  }

  /** The files below a folder, or none where there is no such folder. */
  async list(path: string): Promise<ListedFiles> {
    return this.#parse(path, listedSchema, await this.#ask("list_files", path, {}));
  }

  /** Reads a file to its end, but no more than `maxBytes` of it. */
  async *read(path: string, maxBytes: number): AsyncIterable<Uint8Array> {
    let offset = 0;
    while (offset < maxBytes) {
      const { data } = this.#parse(path, pieceSchema, await this.#ask("read_file", path, { offset }));
      const piece = Buffer.from(data, "base64").subarray(0, maxBytes - offset);
      if (piece.length === 0) return;
      yield piece;
      offset += piece.length;
    }
  }

  async #writePiece(path: string, offset: number, piece: Uint8Array): Promise<void> {
    await this.#ask("write_file", path, { offset, data: Buffer.from(piece).toString("base64") });
  }

  async #ask(method: string, path: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    const answer = await this.#kernel.ask(method, { path, ...params }, ASK_DEADLINE_MS);
    if ("value" in answer) return answer.value;
    throw failed(path, answer.error);
  }

  #parse<T>(path: string, schema: z.ZodType<T>, value: unknown): T {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw failed(path, "the sandbox did not answer as it should");
  }
}

function failed(path: string, reason: string): BridgeError {
  return new BridgeError(
    "FILES_FAILED",
    `${JSON.stringify(`/workspace/${path}`)} in the sandbox: ${reason}`,
    {
      hint: "All files of /workspace together have 128 MiB, which count as memory: --memory raises that limit.",
    },
  );
}
