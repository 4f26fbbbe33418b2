import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { BridgeError } from "../../core/errors.ts";
import { explainFileFault } from "../../core/file-faults.ts";
import { withFileLock } from "../../core/file-lock.ts";
import { PrivateFolder } from "../../core/private-folder.ts";

/** Longer than any work under the lock takes: a request to the authorization server has 15 s. */
const LOCK_WAIT_MS = 60_000;
const FOLDER = "sign-ins";

const clientSchema = z.looseObject({ client_id: z.string(), issuer: z.string().optional() });
const tokensSchema = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  scope: z.string().optional(),
  /** Milliseconds since the epoch, as the next one. */
  expiresAt: z.number().optional(),
  /** From when on it is better replaced than used. */
  renewAt: z.number().optional(),
});
const challengeSchema = z.object({
  scope: z.string().optional(),
  resourceMetadataUrl: z.string().optional(),
});
const signInSchema = z.object({
  version: z.literal(1),
  /** Without its query, for whoever reads the file. */
  server: z.string(),
  /** The authorization server that registered the client and issued the tokens. */
  issuer: z.string().optional(),
  client: clientSchema.optional(),
  /** What the client is registered with: another one needs another registration. */
  redirectUrl: z.string().optional(),
  resource: z.string().optional(),
  tokens: tokensSchema.optional(),
  /** What the server asked for when it refused the last time. */
  challenge: challengeSchema.optional(),
});

/** What is kept of a sign-in to one server. */
export type SignIn = z.infer<typeof signInSchema>;
export type SignInTokens = z.infer<typeof tokensSchema>;
export type Challenge = z.infer<typeof challengeSchema>;

/**
 * The sign-ins to servers, one file for each in a folder that only the user can enter. Bridges share them: what is read
 * and then changed is done under a lock.
 */
export class SignInStore {
  readonly #dataDir: string;
  #folder: Promise<PrivateFolder | undefined> | undefined;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** `undefined` where there is none, or none that can be read. */
  async read(url: URL): Promise<SignIn | undefined> {
    // Most servers need no sign-in, and looking for one must leave no folder behind.
    const isThere = await stat(join(this.#dataDir, FOLDER)).catch(() => undefined);
    if (isThere === undefined) return undefined;
    const text = await (await this.#open())?.read(`${keyOf(url)}.json`);
    if (text === undefined) return undefined;
    try {
      return signInSchema.parse(JSON.parse(text));
    } catch {
      return undefined; // half a file or another version's: the user signs in again
    }
  }

  /** Gives the sign-in to `change` and keeps what it returns; `undefined` removes it. Nobody else changes it meanwhile. */
  async update(
    url: URL,
    change: (current: SignIn | undefined) => Promise<SignIn | undefined>,
    signal?: AbortSignal,
  ): Promise<SignIn | undefined> {
    const folder = await this.#open();
    if (folder === undefined) {
      const path = join(this.#dataDir, FOLDER);
      throw new BridgeError(
        "CONFIG_INVALID",
        `${JSON.stringify(path)} cannot be a private folder for sign-ins`,
        {
          hint: "It must be yours and writable; XDG_DATA_HOME says where it is.",
        },
      );
    }
    const key = keyOf(url);
    const locked = <T>(work: () => Promise<T>) =>
      withFileLock(join(folder.folder, `${key}.lock`), { waitMs: LOCK_WAIT_MS, signal }, work);
    let isChanging = false;
    try {
      return await locked(async () => {
        const current = await this.read(url);
        isChanging = true;
        const next = await change(current);
        isChanging = false;
        if (next === undefined) await folder.remove(`${key}.json`);
        else if (next !== current)
          await folder.write(`${key}.json`, `${JSON.stringify(next, undefined, 2)}\n`);
        return next;
      });
    } catch (error) {
      if (isChanging || error instanceof BridgeError || signal?.aborted === true) throw error;
      const { what, hint } = explainFileFault(error);
      throw new BridgeError(
        "CONFIG_INVALID",
        `the sign-in could not be kept in ${JSON.stringify(folder.folder)}: ${what}`,
        { hint: hint ?? "It must be yours and writable; XDG_DATA_HOME says where it is.", cause: error },
      );
    }
  }

  #open(): Promise<PrivateFolder | undefined> {
    this.#folder ??= PrivateFolder.open(join(this.#dataDir, FOLDER));
    return this.#folder;
  }
}

/** A sign-in of which nothing is known yet. */
export function emptySignIn(url: URL): SignIn {
  return { version: 1, server: `${url.origin}${url.pathname}` };
}

function keyOf(url: URL): string {
  return createHash("sha256").update(url.href).digest("hex").slice(0, 32);
}
