import type { OAuthClientInformation } from "@modelcontextprotocol/client";
import { BridgeError } from "../../core/errors.ts";
import type { OAuthSettings, ServerDefinition } from "../../discovery/server-definition.ts";
import { isRemote } from "../definitions.ts";
import { BadEndpoint, type Endpoint, parseEndpoint } from "../remote/server-fetch.ts";
import { type SignIn, SignInStore } from "./sign-in-store.ts";

/** A person may have to look for a password, or for a second factor. */
const PATIENCE_MS = 10 * 60_000;
const REVOKE_MS = 5000;

/** How things stand with a server. The sign-in itself may be refused by the server all the same. */
export type SignInState =
  | { readonly kind: "signed-in"; readonly expiresAt: number | undefined; readonly canRenew: boolean }
  /** The server has refused, and nobody has signed in since. */
  | { readonly kind: "needed" }
  /** Nobody has signed in, and perhaps nobody has to. */
  | { readonly kind: "none" };

/** The sign-ins of the user. */
export interface SignIns {
  state(server: ServerDefinition): Promise<SignInState>;
  /** Signs in; `present` shows the user the page to open. Rejects with `UPSTREAM_UNAUTHORIZED` where that fails. */
  signIn(
    server: ServerDefinition,
    how: { readonly present: (url: string) => Promise<void>; readonly signal: AbortSignal },
  ): Promise<SignInState>;
  /** Forgets tokens and registration, and tells the authorization server; whether there were any. */
  signOut(server: ServerDefinition): Promise<boolean>;
}

export function createSignIns({ dataDir }: { readonly dataDir: string }): SignIns {
  const store = new SignInStore(dataDir);
  return {
    state: async (server) => {
      const endpoint = endpointOf(server);
      return endpoint === undefined ? { kind: "none" } : stateOf(await store.read(endpoint.url));
    },
    signIn: async (server, { present, signal }) => {
      const { endpoint, settings } = requireSignIn(server);
      const { signIn } = await import("./sign-in.ts");
      const options = {
        server: server.name,
        endpoint,
        settings,
        store,
        present,
        signal,
        patienceMs: PATIENCE_MS,
      };
      return stateOf(await signIn(options));
    },
    signOut: async (server) => {
      const { endpoint, settings } = requireSignIn(server);
      const before = await store.read(endpoint.url);
      await store.update(endpoint.url, async () => undefined);
      if (before?.tokens === undefined) return false;
      await revoke(before, endpoint, settings).catch(() => undefined); // forgotten here in any case
      return true;
    },
  };
}

async function revoke(signIn: SignIn, endpoint: Endpoint, settings: OAuthSettings): Promise<void> {
  const [{ revokeTokens }, { clientOf }, { createOAuthFetch }] = await Promise.all([
    import("./revoke.ts"),
    import("./sign-in.ts"),
    import("./oauth-fetch.ts"),
  ]);
  const client = clientOf(settings) ?? (signIn.client as OAuthClientInformation | undefined);
  const fetchFn = createOAuthFetch(endpoint, AbortSignal.timeout(REVOKE_MS));
  if (client !== undefined) await revokeTokens(signIn, client, fetchFn);
}

function stateOf(signIn: SignIn | undefined): SignInState {
  const { tokens, challenge } = signIn ?? {};
  // A challenge after a sign-in is kept with the tokens that did not do.
  if (challenge !== undefined) return { kind: "needed" };
  if (tokens === undefined) return { kind: "none" };
  return { kind: "signed-in", expiresAt: tokens.expiresAt, canRenew: tokens.refreshToken !== undefined };
}

function endpointOf(server: ServerDefinition): Endpoint | undefined {
  if (!isRemote(server)) return undefined;
  try {
    return parseEndpoint(server.transport.url, server.transport.headers);
  } catch (error) {
    if (error instanceof BadEndpoint) return undefined;
    throw error;
  }
}

/** Throws `UPSTREAM_NOT_USABLE` for a server that is not signed in to in this way. */
function requireSignIn(server: ServerDefinition) {
  const refuse = (why: string, hint: string) =>
    new BridgeError("UPSTREAM_NOT_USABLE", `server ${JSON.stringify(server.name)} ${why}`, { hint });
  if (!isRemote(server)) {
    throw refuse("is a program on this machine, which signs in by itself", "Its own documents say how.");
  }
  const { oauth } = server.transport;
  if (oauth === "off") throw refuse("has OAuth switched off", "Switch it on in its definition.");
  const endpoint = endpointOf(server);
  if (endpoint === undefined)
    throw refuse("has a URL or headers that are not valid", "Correct its definition.");
  if (endpoint.headers["authorization"] !== undefined) {
    throw refuse("has its authorization in its definition", "Take it out there to sign in by OAuth instead.");
  }
  return { endpoint, settings: oauth ?? {} };
}
