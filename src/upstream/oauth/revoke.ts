import {
  discoverAuthorizationServerMetadata,
  type FetchLike,
  type OAuthClientInformation,
  selectClientAuthMethod,
} from "@modelcontextprotocol/client";
import type { SignIn } from "./sign-in-store.ts";

/**
 * Tells the authorization server that tokens are not used any more (RFC 7009), where it has a place for that. Rejects
 * when it cannot be told; the tokens then end by themselves.
 */
export async function revokeTokens(
  { issuer, tokens }: SignIn,
  client: OAuthClientInformation,
  fetchFn: FetchLike,
): Promise<void> {
  if (issuer === undefined || tokens === undefined) return;
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
  const { revocation_endpoint: address } = { ...metadata } as { readonly revocation_endpoint?: unknown };
  if (typeof address !== "string") return;
  const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  // With a refresh token the access tokens that came of it end too.
  const body = new URLSearchParams({ token: tokens.refreshToken ?? tokens.accessToken });
  const { client_id: id, client_secret: secret } = client;
  if (selectClientAuthMethod(client, methods) === "client_secret_basic") {
    const pair = `${encodeURIComponent(id)}:${encodeURIComponent(secret ?? "")}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  } else {
    body.set("client_id", id);
    if (secret !== undefined) body.set("client_secret", secret);
  }
  await fetchFn(address, { method: "POST", headers, body });
}
