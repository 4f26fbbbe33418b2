import { createHash, timingSafeEqual } from "node:crypto";
import type { Caller } from "../../core/caller.ts";
import type { Identity, TokenVerifier } from "./identity.ts";

/** A token that is known, by its hash alone. Several may have one name: while the old one is replaced by a new one. */
export interface NamedToken {
  readonly name: string;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
}

/**
 * Knows tokens from a list, which `read` gives as it is now. How long a comparison takes does not depend on how much of
 * a token is right, nor on which one it is.
 */
export function createStaticTokens(read: () => Promise<readonly NamedToken[]>): TokenVerifier {
  return {
    async verify(token): Promise<Identity> {
      const tokens = await read();
      const digest = createHash("sha256").update(token).digest();
      let found: NamedToken | undefined;
      for (const known of tokens) if (timingSafeEqual(known.digest, digest)) found = known;
      if (found === undefined)
        return { kind: "unknown", reason: "the token is not one that this server knows" };
      return { kind: "caller", caller: callerOf(found.name) };
    },
  };
}

/** Beside `local` and the subjects of issuers, which have a `|`. */
function callerOf(name: string): Caller {
  return { id: `token:${name}`, name };
}
