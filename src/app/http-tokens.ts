import { stat } from "node:fs/promises";
import type { HttpSettings } from "../config/http.ts";
import { type HttpToken, loadTokenFile } from "../config/http-tokens.ts";
import type { Log } from "../core/log.ts";

/** A token that is struck out lets nobody in for longer than this. */
const LOOK_MS = 1000;

/**
 * The tokens of the settings and of their file, which is read again when it changed. One that has become unusable is an
 * error in the log, and what it said before goes on to hold: half of it may have been written.
 */
export class HttpTokens {
  readonly #settings: Pick<HttpSettings, "tokens" | "tokenFile">;
  readonly #log: Log;
  #fromFile: readonly HttpToken[] = [];
  #stamp = "";
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  private constructor(settings: Pick<HttpSettings, "tokens" | "tokenFile">, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Throws `CONFIG_INVALID` for a file that is not usable. */
  static async load(settings: Pick<HttpSettings, "tokens" | "tokenFile">, log: Log): Promise<HttpTokens> {
    const tokens = new HttpTokens(settings, log);
    await tokens.#look();
    return tokens;
  }

  async read(): Promise<readonly HttpToken[]> {
    if (performance.now() - this.#lookedAt > LOOK_MS) {
      this.#looking ??= this.#look()
        .catch((error: unknown) =>
          this.#log.error("the file of tokens is not usable", { error: String(error) }),
        )
        .finally(() => {
          this.#looking = undefined;
        });
      await this.#looking;
    }
    return [...this.#settings.tokens, ...this.#fromFile];
  }

  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    const { tokenFile } = this.#settings;
    if (tokenFile === undefined) return;
    const facts = await stat(tokenFile, { bigint: true }).catch(() => undefined); // reading says why
    const stamp = facts === undefined ? "" : [facts.ino, facts.size, facts.mtimeNs, facts.mode].join();
    if (stamp !== "" && stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#fromFile = await loadTokenFile(tokenFile);
  }
}
