import {
  type AuthProvider,
  discoverAuthorizationServerMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
} from "@modelcontextprotocol/client";
import { BridgeError } from "../../core/errors.ts";
import { shellWord } from "../../core/shell-word.ts";
import type { Challenge, SignIn, SignInStore, SignInTokens } from "./sign-in-store.ts";
import { emptySignIn } from "./sign-in-store.ts";

/** Another process may have signed in, refreshed or signed out. */
const REREAD_MS = 2000;
/** So long before its end a token is replaced, or a tenth of its life where that is less. */
const EARLY_MS = 30_000;

const MAX_LIFE_MS = 10 * 365 * 24 * 3600 * 1000;
/** It goes into a header; most servers take no longer ones. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** Errors of the authorization server after which only the user can help. */
const IS_OVER: readonly string[] = [
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
];

export interface TokenSourceOptions {
  readonly url: URL;
  readonly store: SignInStore;
  readonly fetch: FetchLike;
  /** Client information from the definition, in place of what was registered. */
  readonly client: { readonly client_id: string; readonly client_secret?: string } | undefined;
  /** The server's name. */
  readonly server: string;
}

/**
 * The tokens of one server for a connection, which never signs in by itself. A token that the server refuses, or that
 * ends soon, is refreshed: once, whoever asks meanwhile in this process or another.
 */
export class TokenSource implements AuthProvider {
  readonly #options: TokenSourceOptions;
  readonly #usedBy = new WeakMap<Response, string>();
  #current: SignIn | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<SignIn | undefined> | undefined;

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** What must not be shown. */
  secrets(): readonly string[] {
    const { tokens, client } = this.#current ?? {};
    const secret = client?.["client_secret"];
    return [tokens?.accessToken, tokens?.refreshToken, secret].filter((value) => typeof value === "string");
  }

  /** Notes which token a request had: another may be in use when its answer is looked at. */
  noteUse(response: Response, authorization: string | null): void {
    if (authorization?.startsWith("Bearer ")) this.#usedBy.set(response, authorization.slice(7));
  }

  async token(): Promise<string | undefined> {
    if (performance.now() - this.#readAt > REREAD_MS)
      this.#adopt(await this.#options.store.read(this.#options.url));
    const tokens = this.#current?.tokens;
    if (tokens?.refreshToken === undefined || !endsSoon(tokens)) return tokens?.accessToken;
    // Best effort: the server decides whether the old one still holds.
    const next = await this.#refresh(tokens.accessToken).catch(() => this.#current);
    return (next?.tokens ?? tokens).accessToken;
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const used = this.#usedBy.get(response);
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
    const next =
      used === undefined ? undefined : await this.#refresh(used).catch((error) => this.#fail(error));
    if (next?.tokens !== undefined && next.tokens.accessToken !== used) return;
    await this.noteChallenge({ scope, resourceMetadataUrl: resourceMetadataUrl?.href });
    throw needsSignIn(this.#options.server);
  }

  /** Keeps what the server asks for, for the next sign-in. */
  async noteChallenge(asked: {
    readonly scope: string | undefined;
    readonly resourceMetadataUrl: string | undefined;
  }) {
    const { url, store } = this.#options;
    const challenge: Challenge = {
      ...(asked.scope === undefined ? {} : { scope: asked.scope }),
      ...(asked.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: asked.resourceMetadataUrl }),
    };
    this.#readAt = Number.NEGATIVE_INFINITY; // somebody may sign in before the next call
    await store
      .update(url, async (current) => ({ ...(current ?? emptySignIn(url)), challenge }))
      .catch(() => undefined); // a sign-in finds out by itself, only less well
  }

  #fail(cause: unknown): never {
    if (cause instanceof BridgeError) throw cause;
    const { server } = this.#options;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `the sign-in to server ${JSON.stringify(server)} could not be renewed: ${reason}`;
    throw new BridgeError("UPSTREAM_FAILED", message, { hint: "Try again later.", data: { server }, cause });
  }

  #adopt(signIn: SignIn | undefined): void {
    this.#current = signIn;
    this.#readAt = performance.now();
  }

  /** The sign-in with other tokens than `rejected`, if there are any. */
  async #refresh(rejected: string): Promise<SignIn | undefined> {
    if (this.#current?.tokens !== undefined && this.#current.tokens.accessToken !== rejected)
      return this.#current;
    this.#refreshing ??= this.#refreshOnce(rejected).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refreshOnce(rejected: string): Promise<SignIn | undefined> {
    const { url, store } = this.#options;
    let fresh: SignIn | undefined;
    const next = await store
      .update(url, async (current) => {
        const isOurs = current?.tokens?.accessToken === rejected;
        fresh = isOurs ? await this.#exchange(current) : current; // else another process was first
        return fresh;
      })
      .catch((error: unknown) => {
        // The disk is full: what was issued may be the only one that still counts.
        if (fresh === undefined) throw error;
        return fresh;
      });
    this.#adopt(next);
    return next;
  }

  async #exchange(current: SignIn): Promise<SignIn> {
    const { fetch: fetchFn } = this.#options;
    const client = this.#options.client ?? current.client;
    const { issuer, tokens } = current;
    if (tokens?.refreshToken === undefined || issuer === undefined || client === undefined) return current;
    try {
      const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
      const fresh = await refreshAuthorization(issuer, {
        ...(metadata === undefined ? {} : { metadata }),
        clientInformation: client,
        refreshToken: tokens.refreshToken,
        ...(current.resource === undefined ? {} : { resource: current.resource }),
        fetchFn,
      });
      return { ...current, tokens: toTokens(fresh, tokens.scope) };
    } catch (error) {
      if (!(error instanceof OAuthError) || !IS_OVER.includes(error.code)) throw error;
      const { refreshToken: _used, ...left } = tokens;
      return { ...current, tokens: left };
    }
  }
}

/** The error for the model: only the user can sign in. */
function needsSignIn(server: string): BridgeError {
  return new BridgeError("UPSTREAM_UNAUTHORIZED", `server ${JSON.stringify(server)} needs a sign-in`, {
    hint: `Ask the user to run: ${signInCommand(server)}`,
    data: { server },
  });
}

export function signInCommand(server: string): string {
  return `sandpy auth ${shellWord(server)}`;
}

/** Tokens as they are kept. Throws for one that no request could carry. */
export function toTokens(
  given: {
    readonly access_token: string;
    readonly refresh_token?: string | undefined;
    readonly scope?: string | undefined;
    readonly expires_in?: number | undefined;
  },
  askedScope: string | undefined,
): SignInTokens {
  if (!TOKEN.test(given.access_token))
    throw new Error("the token that was issued is empty, too long or no plain text");
  const scope = given.scope ?? askedScope;
  return {
    accessToken: given.access_token,
    ...(given.refresh_token === undefined ? {} : { refreshToken: given.refresh_token }),
    ...(scope === undefined ? {} : { scope }),
    ...(given.expires_in === undefined ? {} : lifeOf(given.expires_in * 1000)),
  };
}

function lifeOf(saidMs: number): Pick<SignInTokens, "expiresAt" | "renewAt"> {
  const lifeMs = Math.min(Math.max(saidMs, 0), MAX_LIFE_MS);
  const expiresAt = Date.now() + lifeMs;
  return { expiresAt, renewAt: expiresAt - Math.min(EARLY_MS, lifeMs / 10) };
}

function endsSoon({ renewAt }: SignInTokens): boolean {
  return renewAt !== undefined && renewAt < Date.now();
}
