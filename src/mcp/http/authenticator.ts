import { LOCAL_CALLER } from "../../core/caller.ts";
import type { Identity, TokenVerifier } from "./identity.ts";
import { refuse } from "./refusal.ts";

/** Longer ones are not looked at. */
const MAX_TOKEN_CHARS = 16_384;
const RETRY_AFTER_S = "5";
/** Who is not let in keeps no connection open. */
const LEAVE = { connection: "close" };

/** What clients are told that have to get a token from somewhere else. */
export interface OAuthChallenge {
  /** Where the metadata of the protected resource is (RFC 9728). */
  readonly metadataUrl: string;
  /** What a token has to be good for. */
  readonly scopes: readonly string[];
}

export interface AuthenticatorOptions {
  /** Asked one after the other; without any, whoever reaches the server is its user. */
  readonly verifiers: readonly TokenVerifier[];
  readonly challenge?: (() => OAuthChallenge) | undefined;
}

/** Tells who asks. */
export interface Authenticator {
  /** Whether a token is needed at all. */
  readonly isRequired: boolean;
  /** Whose a token is, wherever it came from. */
  identify(token: string): Promise<Identity>;
  /** Who sends a request with this `Authorization` header, or the answer to it. */
  authenticate(authorization: string | null): Promise<Identity | Response>;
}

/** Bearer tokens by RFC 6750: in the header alone, never in an address, which would be in histories and logs. */
export function createAuthenticator({ verifiers, challenge }: AuthenticatorOptions): Authenticator {
  const identify = async (token: string): Promise<Identity> => {
    if (verifiers.length === 0) return { kind: "caller", caller: LOCAL_CALLER };
    let last: Identity = { kind: "unknown", reason: "the token is too long" };
    if (token.length > MAX_TOKEN_CHARS) return last;
    for (const verifier of verifiers) {
      last = await verifier.verify(token);
      if (last.kind !== "unknown") return last;
    }
    return last;
  };
  return {
    isRequired: verifiers.length > 0,
    identify,
    async authenticate(authorization) {
      if (verifiers.length === 0) return identify("");
      const token = /^bearer +([\w.~+/-]+=*) *$/i.exec(authorization ?? "")?.[1];
      if (token === undefined) {
        return refuse(401, "a bearer token is needed: send the header Authorization: Bearer TOKEN", {
          headers: { ...LEAVE, "www-authenticate": renderChallenge(challenge?.(), undefined) },
        });
      }
      const identity = await identify(token);
      switch (identity.kind) {
        case "caller":
          return identity;
        case "unknown":
          return refuse(401, identity.reason, {
            headers: {
              ...LEAVE,
              "www-authenticate": renderChallenge(challenge?.(), "invalid_token", identity.reason),
            },
          });
        case "forbidden":
          return refuse(403, identity.reason, {
            headers: {
              ...LEAVE,
              "www-authenticate": renderChallenge(challenge?.(), "insufficient_scope", identity.reason),
            },
          });
        case "unavailable":
          return refuse(503, identity.reason, { headers: { "retry-after": RETRY_AFTER_S } });
      }
    },
  };
}

/** No `error` where no token was sent: RFC 6750, section 3.1. */
function renderChallenge(
  challenge: OAuthChallenge | undefined,
  error: "invalid_token" | "insufficient_scope" | undefined,
  description = "",
): string {
  const fields = {
    realm: "sandpy",
    error,
    error_description: error && description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, " "),
    scope: challenge?.scopes.join(" ") || undefined,
    resource_metadata: challenge?.metadataUrl,
  };
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `Bearer ${pairs.map(([key, value]) => `${key}="${value}"`).join(", ")}`;
}
