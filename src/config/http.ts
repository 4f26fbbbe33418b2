import type { Given, GivenSettings } from "./given.ts";
import type { HttpToken } from "./http-tokens.ts";

/** The settings of `sandpy serve --http`. */
export interface HttpSettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly path: string;
  /** Beside those of the address that is listened on. */
  readonly allowHosts: readonly string[];
  readonly allowOrigins: readonly string[];
  readonly tokens: readonly HttpToken[];
  /** Absolute. */
  readonly tokenFile: string | undefined;
  readonly oauth: OAuthSettings | undefined;
  /** How clients reach the server, with its path; `undefined`: at the address that it listens on. */
  readonly publicUrl: string | undefined;
  readonly graceMs: number;
  readonly dashboard: boolean;
  /** Who sees the sessions of all on the dashboard: names of tokens, or whole ids. */
  readonly admins: readonly string[];
  /** `/metrics` asks for no token. */
  readonly metricsOpen: boolean;
  readonly insecureNoAuth: boolean;
}

/** Whose access tokens are accepted. */
export interface OAuthSettings {
  readonly issuer: string;
  /** `undefined`: the address of the server itself. */
  readonly audience: string | undefined;
  /** Where the issuer's keys are; `undefined`: where its metadata says. */
  readonly jwks: string | undefined;
  readonly scopes: readonly string[];
}

type ToPath = (given: Pick<Given, "source"> & { readonly value: string }) => string;

/** Throws `CONFIG_INVALID` where the settings do not fit together. */
export function resolveHttp(given: GivenSettings, toPath: ToPath): HttpSettings {
  const tokenFile = given.get("MCP_BRIDGE_HTTP_TOKEN_FILE");
  return {
    host: given.value("MCP_BRIDGE_HTTP_HOST") ?? "127.0.0.1",
    port: given.value("MCP_BRIDGE_HTTP_PORT") ?? 8848,
    path: given.value("MCP_BRIDGE_HTTP_PATH") ?? "/mcp",
    allowHosts: given.value("MCP_BRIDGE_HTTP_ALLOW_HOSTS") ?? [],
    allowOrigins: given.value("MCP_BRIDGE_HTTP_ALLOW_ORIGINS") ?? [],
    tokens: given.value("MCP_BRIDGE_HTTP_TOKEN") ?? [],
    tokenFile: tokenFile === undefined ? undefined : toPath(tokenFile),
    oauth: resolveOAuth(given),
    publicUrl: given.value("MCP_BRIDGE_HTTP_PUBLIC_URL"),
    graceMs: (given.value("MCP_BRIDGE_HTTP_GRACE") ?? 5) * 1000,
    dashboard: given.value("MCP_BRIDGE_HTTP_DASHBOARD") ?? false,
    admins: given.value("MCP_BRIDGE_HTTP_ADMINS") ?? [],
    metricsOpen: given.value("MCP_BRIDGE_HTTP_METRICS_OPEN") ?? false,
    insecureNoAuth: given.value("MCP_BRIDGE_HTTP_INSECURE_NO_AUTH") ?? false,
  };
}

function resolveOAuth(given: GivenSettings): OAuthSettings | undefined {
  const issuer = given.value("MCP_BRIDGE_HTTP_ISSUER");
  const others = ["MCP_BRIDGE_HTTP_AUDIENCE", "MCP_BRIDGE_HTTP_JWKS", "MCP_BRIDGE_HTTP_SCOPES"] as const;
  for (const name of others) {
    const lonely = issuer === undefined ? given.get(name) : undefined;
    if (lonely !== undefined) throw given.refuse(lonely, "an issuer (--issuer) beside it");
  }
  if (issuer === undefined) return undefined;
  return {
    issuer,
    audience: given.value("MCP_BRIDGE_HTTP_AUDIENCE"),
    jwks: given.value("MCP_BRIDGE_HTTP_JWKS"),
    scopes: given.value("MCP_BRIDGE_HTTP_SCOPES") ?? [],
  };
}
