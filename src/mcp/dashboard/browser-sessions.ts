import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const LIFETIME_MS = 12 * 60 * 60_000;
const MAX_SESSIONS = 256;
const KEY_BYTES = 32;
const FAILURES = { count: 10, perMs: 60_000, peers: 1024 };

/**
 * Who signed in with a browser. A cookie holds a random key; its token stays here, so that each request can ask whether
 * the token still stands for somebody. `now` is in milliseconds of any clock.
 */
export class BrowserSessions {
  readonly #now: () => number;
  readonly #secret = randomBytes(KEY_BYTES);
  /** By the hash of its key: how long a look-up takes tells nothing of the keys. */
  readonly #tokens = new Map<string, { readonly token: string; readonly until: number }>();
  readonly #failures = new Map<string, { count: number; until: number }>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The key for a cookie. The oldest session ends where there are too many. */
  open(token: string): string {
    const key = randomBytes(KEY_BYTES).toString("base64url");
    if (this.#tokens.size >= MAX_SESSIONS) dropFirst(this.#tokens);
    this.#tokens.set(hash(key), { token, until: this.#now() + LIFETIME_MS });
    return key;
  }

  tokenOf(key: string): string | undefined {
    const found = this.#tokens.get(hash(key));
    if (found === undefined || found.until > this.#now()) return found?.token;
    this.end(key);
    return undefined;
  }

  end(key: string): void {
    this.#tokens.delete(hash(key));
  }

  /** What forms carry that a page of ours made; `who` is the cookie's key, or a caller. */
  formToken(who: string): string {
    return createHmac("sha256", this.#secret).update(who).digest("base64url");
  }

  isFormToken(who: string, given: string): boolean {
    const wanted = Buffer.from(this.formToken(who));
    const offered = Buffer.from(given);
    return wanted.length === offered.length && timingSafeEqual(wanted, offered);
  }

  /** Seconds until `peer` may try again; 0: now. */
  waitSeconds(peer: string): number {
    const failed = this.#failures.get(peer);
    const leftMs = failed === undefined ? 0 : failed.until - this.#now();
    return failed !== undefined && failed.count >= FAILURES.count && leftMs > 0
      ? Math.ceil(leftMs / 1000)
      : 0;
  }

  /** Notes a wrong token. */
  fail(peer: string): void {
    const now = this.#now();
    const known = this.#failures.get(peer);
    this.#failures.delete(peer);
    if (this.#failures.size >= FAILURES.peers) dropFirst(this.#failures);
    const fresh = { count: 1, until: now + FAILURES.perMs };
    this.#failures.set(
      peer,
      known === undefined || known.until <= now ? fresh : { count: known.count + 1, until: known.until },
    );
  }
}

function hash(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
