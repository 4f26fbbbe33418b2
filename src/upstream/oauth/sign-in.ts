import { randomBytes } from "node:crypto";
import {
  auth,
  computeScopeUnion,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { BridgeError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import type { OAuthSettings } from "../../discovery/server-definition.ts";
import { explainUnreachable } from "../remote/faults.ts";
import type { Endpoint } from "../remote/server-fetch.ts";
import { startCallback } from "./callback.ts";
import { createOAuthFetch, isAllowed } from "./oauth-fetch.ts";
import { SignInProvider } from "./sign-in-provider.ts";
import { type Challenge, emptySignIn, type SignIn, type SignInStore } from "./sign-in-store.ts";
import { signInCommand, toTokens } from "./token-source.ts";

export interface SignInOptions {
  /** The server's name. */
  readonly server: string;
  readonly endpoint: Endpoint;
  readonly settings: OAuthSettings;
  readonly store: SignInStore;
  /** Shows the user where to sign in. */
  readonly present: (url: string) => Promise<void>;
  /** Milliseconds that the user has. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/**
 * Signs the user in to a server by the authorization code flow with PKCE (OAuth 2.1, as MCP wants it) and keeps the
 * tokens. Rejects with `UPSTREAM_UNAUTHORIZED` when the user or a server refuses.
 */
export async function signIn(options: SignInOptions): Promise<SignIn> {
  const { endpoint, settings, store, signal } = options;
  const fetchFn = createOAuthFetch(endpoint, signal);
  const before = await store.read(endpoint.url);
  const { challenge, discovery } = await explore(options, before, fetchFn);
  const state = randomBytes(32).toString("base64url");
  const ports =
    settings.callbackPort === undefined ? [...portOf(before?.redirectUrl), 0] : [settings.callbackPort];
  const host = settings.callbackPort === undefined ? "127.0.0.1" : "localhost";
  await using callback = startCallback({ state, ports, host });
  const { redirectUrl } = callback;
  const granted = before?.tokens?.scope;
  const asked = settings.scopes?.join(" ");
  const scope = challenge.scope === undefined ? asked : computeScopeUnion(asked, granted, challenge.scope);
  const given = clientOf(settings);
  const client = given ?? (before?.redirectUrl === redirectUrl ? keptClient(before, scope) : undefined);
  const provider = new SignInProvider({
    redirectUrl,
    state,
    discovery,
    client,
    isGiven: given !== undefined,
  });
  try {
    await auth(provider, {
      serverUrl: endpoint.url,
      ...(scope === undefined ? {} : { scope }),
      fetchFn,
      forceReauthorization: true,
    });
    const params = await waitForUser(provider, callback.arrived, options);
    // The SDK checks the issuer of the answer, and exchanges its code.
    const transport = new StreamableHTTPClientTransport(endpoint.url, {
      authProvider: provider,
      fetch: fetchFn,
    });
    await transport.finishAuth(params);
  } catch (error) {
    throw signal.aborted ? signal.reason : refused(options, error);
  }
  const { issued, resource } = provider;
  if (issued === undefined) throw refused(options, new Error("no token was issued"));
  const tokens = tokensOf(issued, scope, options);
  const issuer = discovery.authorizationServerMetadata?.issuer ?? discovery.authorizationServerUrl;
  const next: SignIn = {
    ...emptySignIn(endpoint.url),
    issuer,
    redirectUrl,
    ...(given === undefined && provider.client !== undefined ? { client: provider.client } : {}),
    ...(resource === undefined ? {} : { resource }),
    tokens,
  };
  await store.update(endpoint.url, async () => next, signal);
  return next;
}

function tokensOf(issued: Parameters<typeof toTokens>[0], scope: string | undefined, options: SignInOptions) {
  try {
    return toTokens(issued, scope);
  } catch (error) {
    throw refused(options, error);
  }
}

/** Client information that the definition gives. */
export function clientOf({ clientId, clientSecret }: OAuthSettings) {
  if (clientId === undefined) return undefined;
  return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
}

/** The client that was registered before, while its registration lasts and allows `scope`. */
function keptClient({ client }: SignIn, scope = ""): StoredOAuthClientInformation | undefined {
  const endsAt = client?.["client_secret_expires_at"];
  const allowed = client?.["scope"];
  const hasEnded = typeof endsAt === "number" && endsAt > 0 && endsAt * 1000 < Date.now();
  const isTooNarrow =
    typeof allowed === "string" && isStrictScopeSuperset(computeScopeUnion(allowed, scope), allowed);
  return hasEnded || isTooNarrow ? undefined : (client as StoredOAuthClientInformation | undefined);
}

/** What the server says to somebody who has not signed in; `undefined`: it does not mind. */
async function askForChallenge({ url }: Endpoint, fetchFn: FetchLike): Promise<Challenge | undefined> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "sandpy", version: VERSION },
    },
  });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetchFn(url, { method: "POST", headers, body });
  if (response.status !== 401) return undefined;
  const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  return {
    ...(scope === undefined ? {} : { scope }),
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: resourceMetadataUrl.href }),
  };
}

/** Finds out what the server wants, and who may give it. */
async function explore(
  options: SignInOptions,
  before: SignIn | undefined,
  fetchFn: FetchLike,
): Promise<{ readonly challenge: Challenge; readonly discovery: OAuthDiscoveryState }> {
  const { endpoint, signal } = options;
  try {
    const asked = await askForChallenge(endpoint, fetchFn);
    // What was missing the last time is not what somebody unknown is asked for.
    const scope = computeScopeUnion(before?.challenge?.scope, asked?.scope);
    const challenge = { ...before?.challenge, ...asked, ...(scope === undefined ? {} : { scope }) };
    const { resourceMetadataUrl } = challenge;
    const where =
      resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: new URL(resourceMetadataUrl) };
    const found = await discoverOAuthServerInfo(endpoint.url, { ...where, fetchFn });
    const isSilent = found.resourceMetadata === undefined && found.authorizationServerMetadata === undefined;
    if (asked === undefined && isSilent)
      throw new Error("it asks for none, and says nowhere who could give one");
    return {
      challenge,
      discovery: { ...found, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) },
    };
  } catch (error) {
    throw signal.aborted ? signal.reason : refused(options, error);
  }
}

async function waitForUser(
  { authorizationUrl }: SignInProvider,
  arrived: Promise<URLSearchParams>,
  { server, endpoint, present, patienceMs, signal }: SignInOptions,
): Promise<URLSearchParams> {
  if (authorizationUrl === undefined) throw new Error("there is no page to sign in at");
  if (!isAllowed(authorizationUrl, endpoint.url))
    throw new Error("its sign-in page is at an address that is not safe");
  await present(authorizationUrl.href);
  const late = AbortSignal.timeout(patienceMs);
  const ended = Promise.withResolvers<never>();
  const stop = () =>
    ended.reject(
      signal.aborted
        ? signal.reason
        : new BridgeError(
            "UPSTREAM_TIMEOUT",
            `nobody signed in to server ${JSON.stringify(server)} within ${patienceMs / 1000} s`,
            {
              hint: `Does the page say that the client is unknown? Then type: ${signInCommand(server)} --logout`,
            },
          ),
    );
  const either = AbortSignal.any([signal, late]);
  either.addEventListener("abort", stop, { once: true });
  if (either.aborted) stop();
  try {
    const params = await Promise.race([arrived, ended.promise]);
    const error = params.get("error");
    if (error === null) return params;
    // Descriptions are whatever the other side likes.
    throw new Error(`the authorization server answered ${JSON.stringify(error.slice(0, 100))}`);
  } finally {
    either.removeEventListener("abort", stop);
    ended.promise.catch(() => undefined);
  }
}

function refused({ server }: SignInOptions, cause: unknown): BridgeError {
  if (cause instanceof BridgeError) return cause;
  const reason = explainUnreachable(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  const message = `the sign-in to server ${JSON.stringify(server)} failed: ${reason.slice(0, 500)}`;
  return new BridgeError("UPSTREAM_UNAUTHORIZED", message, { data: { server }, cause });
}

function portOf(redirectUrl: string | undefined): number[] {
  const port = Number(URL.canParse(redirectUrl ?? "") ? new URL(redirectUrl ?? "").port : Number.NaN);
  return Number.isInteger(port) && port > 0 ? [port] : [];
}
