import type { Caller } from "../../core/caller.ts";

/** Whose a token is, or why nobody's. */
export type Identity =
  | { readonly kind: "caller"; readonly caller: Caller }
  | { readonly kind: "unknown"; readonly reason: string }
  /** The token is good, and not for this. */
  | { readonly kind: "forbidden"; readonly reason: string }
  /** Whoever could tell cannot be asked now. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Tells whose a bearer token is. Never throws; what it was given is a secret. */
export interface TokenVerifier {
  verify(token: string): Promise<Identity>;
}
