import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { BridgeError } from "../../core/errors.ts";
import { explainFileFault } from "../../core/file-faults.ts";
import { withFileLock } from "../../core/file-lock.ts";
import { PrivateFolder } from "../../core/private-folder.ts";

const FILE_NAME = "trust.json";
const LOCK_NAME = "trust.lock";
const MAX_BYTES = 16 * 1024 ** 2;
const LOCK_WAIT_MS = 5000;

const text = z.string().max(32_768);
const entrySchema = z.object({
  /** The folder that was trusted, without symbolic links. */
  folder: text,
  /** The file that defines the server, relative to that folder. */
  file: text,
  /** Its name there. */
  key: text,
  /** What was trusted; `pinOf` makes it. */
  pin: z.string().regex(/^[0-9a-f]{64}$/),
  /** When, in ISO 8601. */
  at: text,
});
const storeSchema = z.object({ version: z.literal(1), trusted: z.array(entrySchema) });

/** One server of one project file that the user has trusted. */
export type TrustEntry = Readonly<z.infer<typeof entrySchema>>;

/**
 * What the user has trusted, in `trust.json` of the data folder. Reading makes nothing; writing makes the folder, which
 * only the user can enter.
 */
export class TrustStore {
  readonly file: string;
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = dataDir;
    this.file = join(dataDir, FILE_NAME);
  }

  /** Everything that is trusted. Throws `CONFIG_INVALID` for a file that cannot be relied on; it is never replaced. */
  async read(): Promise<readonly TrustEntry[]> {
    const found = await this.#readText();
    if (found === undefined) return [];
    let document: unknown;
    try {
      document = JSON.parse(found);
    } catch (error) {
      throw this.#fault(`is not valid JSON: ${(error as Error).message}`);
    }
    const parsed = storeSchema.safeParse(document);
    if (parsed.success) return parsed.data.trusted;
    const [issue] = parsed.error.issues;
    throw this.#fault(`is not as sandpy writes it: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }

  /** Changes it in one step, one process after the other; what cannot be read is left alone. */
  async update(change: (entries: readonly TrustEntry[]) => readonly TrustEntry[]): Promise<void> {
    const folder = await PrivateFolder.open(this.#folder);
    if (folder === undefined) {
      const message = `the folder ${JSON.stringify(this.#folder)} cannot be made, or belongs to somebody else: what you trust cannot be kept`;
      throw new BridgeError("CONFIG_INVALID", message, { hint: "Correct its owner and permissions." });
    }
    try {
      await withFileLock(join(folder.folder, LOCK_NAME), { waitMs: LOCK_WAIT_MS }, async () => {
        const trusted = change(await this.read());
        await folder.write(FILE_NAME, `${JSON.stringify({ version: 1, trusted }, undefined, 2)}\n`);
      });
    } catch (error) {
      throw error instanceof BridgeError ? error : this.#cannot("be written", error);
    }
  }

  /** `undefined` where there is no file. A link is not followed, and a pipe not waited for. */
  async #readText(): Promise<string | undefined> {
    let handle: FileHandle;
    try {
      const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
      handle = await open(this.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return undefined;
      throw code === "ELOOP" ? this.#fault("is a symbolic link") : this.#cannot("be read", error);
    }
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) throw this.#fault("is not a file");
      if (facts.size > MAX_BYTES) throw this.#fault(`has ${facts.size} bytes, more than ${MAX_BYTES}`);
      const me = process.getuid?.();
      if (me !== undefined && facts.uid !== me) throw this.#fault("belongs to another user");
      if (me !== undefined && (facts.mode & 0o022) !== 0) throw this.#fault("can be written by other users");
      return await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  }

  #cannot(what: string, error: unknown): BridgeError {
    const { what: why, hint } = explainFileFault(error);
    return this.#fault(`cannot ${what}: ${why}`, hint);
  }

  #fault(what: string, hint?: string): BridgeError {
    return new BridgeError("CONFIG_INVALID", `${this.file}, which says what you trust, ${what}`, {
      hint: hint ?? "Correct it, or delete it and run sandpy trust again; until then no project is trusted.",
    });
  }
}
