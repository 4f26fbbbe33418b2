import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import type { Log } from "../../core/log.ts";
import type { Identity, TokenVerifier } from "./identity.ts";
import { createIssuerKeys } from "./issuer-keys.ts";

/** Signatures by a private key alone: with a shared secret, or none, whoever knows the public key could sign. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const CLOCK_SKEW_S = 30;
const MAX_ID_CHARS = 256;
const MAX_NAME_CHARS = 100;

/** What the token itself is to blame for; anything else that goes wrong is not its fault. */
const FAULTS = [
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
] as const;

export interface JwtOptions {
  readonly issuer: string;
  /** The `aud` that tokens for this server have. */
  readonly audience: () => string;
  readonly jwks: string | undefined;
  /** What a token must be good for. */
  readonly scopes: readonly string[];
  readonly log: Log;
}

/** Knows the access tokens (JWT) of one issuer: signed by its keys, for this server, not expired, good for the scopes. */
export function createJwtTokens({ issuer, audience, jwks, scopes, log }: JwtOptions): TokenVerifier {
  const keys = createIssuerKeys(issuer, jwks);
  return {
    async verify(token): Promise<Identity> {
      if (!isPromising(token, issuer)) {
        return { kind: "unknown", reason: "the token is not one that this server knows" };
      }
      try {
        const { payload } = await jwtVerify(token, keys, {
          issuer,
          audience: audience(),
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_SKEW_S,
          requiredClaims: ["exp", "sub"],
        });
        return identityOf(payload, scopes);
      } catch (error) {
        const isFault = FAULTS.some((fault) => error instanceof fault);
        if (isFault) return { kind: "unknown", reason: `the token is not valid: ${describe(error)}` };
        log.warning("the keys of the issuer cannot be had", { issuer, error: String(error) });
        return {
          kind: "unavailable",
          reason: "the issuer of the token cannot be asked for its keys now: try again",
        };
      }
    },
  };
}

/** Whether it is worth asking the issuer for its keys: what is sent without being read costs it nothing. */
function isPromising(token: string, issuer: string): boolean {
  try {
    return ALGORITHMS.includes(decodeProtectedHeader(token).alg ?? "") && decodeJwt(token).iss === issuer;
  } catch {
    return false; // no JWT
  }
}

function identityOf(payload: JWTPayload, scopes: readonly string[]): Identity {
  const { iss } = payload;
  const sub: unknown = payload.sub;
  // Not made into text: two objects would be the same person.
  if (typeof sub !== "string") return { kind: "unknown", reason: `the token's "sub" is not text` };
  const id = `${iss}|${sub}`;
  if (sub === "" || id.length > MAX_ID_CHARS) {
    return { kind: "unknown", reason: `the token's "sub" is empty or too long` };
  }
  const granted = scopesOf(payload);
  const missing = scopes.filter((scope) => !granted.includes(scope));
  if (missing.length > 0) {
    return { kind: "forbidden", reason: `the token is not good for the scope ${missing.join(" ")}` };
  }
  const { preferred_username: chosen } = payload;
  const name = typeof chosen === "string" && chosen !== "" ? chosen : sub;
  return { kind: "caller", caller: { id, name: shown(name) } };
}

/** Many issuers let people choose their names: nothing that a terminal acts on, or that turns the text around it. */
function shown(name: string): string {
  return name
    .slice(0, MAX_NAME_CHARS)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}

/** `scope` by RFC 9068, or `scp`, as some issuers have it. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  return [scope, scp].flatMap((claim) =>
    typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim.map(String) : [],
  );
}

function describe(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its ${JSON.stringify(error.claim)} is not as expected`;
  return "its signature is not one of the issuer's keys";
}
