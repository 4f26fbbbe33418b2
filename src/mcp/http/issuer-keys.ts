import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { fetchSmall } from "./bounded-fetch.ts";

/** An issuer that cannot be reached is left alone for so long: tokens may come by the thousand. */
const PAUSE_MS = 3000;
const KEEP_KEYS_MS = 60 * 60_000;
/** Between two looks for a key that is not known. */
const COOLDOWN_MS = 30_000;

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** The issuer's keys cannot be had now. */
class KeysUnavailable extends Error {}

/**
 * The keys by which an issuer signs, fetched when first needed and kept for an hour; `jwks` is where they are, else the
 * issuer's own metadata says it (OpenID Connect Discovery or RFC 8414). Throws {@link KeysUnavailable} where they cannot be had.
 */
export function createIssuerKeys(issuer: string, jwks: string | undefined): JWTVerifyGetKey {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let why = "";
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (performance.now() - failedAt < PAUSE_MS) throw new KeysUnavailable(why);
    try {
      return await work();
    } catch (error) {
      failedAt = performance.now();
      why = String(error);
      throw new KeysUnavailable(why);
    }
  };
  const open = async () => {
    const url = jwks ?? (await guarded(() => discover(issuer)));
    return createRemoteJWKSet(new URL(url), {
      cacheMaxAge: KEEP_KEYS_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: (address) =>
        guarded(async () => {
          const answer = await fetchSmall(address, { accept: "application/json" });
          if (answer.status !== 200) throw new Error(`the keys are answered with ${answer.status}`);
          return answer;
        }),
    });
  };
  return async (header, token) => {
    keys ??= open().catch((error: unknown) => {
      keys = undefined;
      throw error;
    });
    return (await keys)(header, token);
  };
}

async function discover(issuer: string): Promise<string> {
  const { origin, pathname, protocol } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  let fault: unknown;
  for (const place of places) {
    try {
      const answer = await fetchSmall(place, { accept: "application/json" });
      if (answer.status !== 200) throw new Error(`${place} is answered with ${answer.status}`);
      const metadata = metadataSchema.parse(await answer.json());
      if (metadata.issuer !== issuer)
        throw new Error(`${place} is that of ${JSON.stringify(metadata.issuer)}`);
      const isSafe = metadata.jwks_uri.startsWith("https:") || protocol === "http:";
      if (!isSafe) throw new Error(`${place} names keys that are not reached by HTTPS`);
      return metadata.jwks_uri;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}
