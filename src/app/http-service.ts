import { networkInterfaces } from "node:os";
import type { Config } from "../config/config.ts";
import type { HttpSettings } from "../config/http.ts";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createAuthenticator } from "../mcp/http/authenticator.ts";
import type { Connect } from "../mcp/http/connection.ts";
import { LOOPBACK_HOSTS } from "../mcp/http/host-guard.ts";
import { createHttpApp } from "../mcp/http/http-app.ts";
import type { HttpRoutes } from "../mcp/http/http-env.ts";
import type { TokenVerifier } from "../mcp/http/identity.ts";
import { createJwtTokens } from "../mcp/http/jwt-tokens.ts";
import type { SharedServerOptions } from "../mcp/http/legacy-session.ts";
import { listen } from "../mcp/http/listen.ts";
import { createMcpEndpoint } from "../mcp/http/mcp-endpoint.ts";
import { createMetadataRoutes, metadataUrlOf } from "../mcp/http/resource-metadata.ts";
import { createStaticTokens } from "../mcp/http/static-tokens.ts";
import { isWildcard, urlHost } from "./http-address.ts";
import { HttpTokens } from "./http-tokens.ts";

export interface HttpServiceOptions {
  readonly config: Config;
  readonly log: Log;
  readonly connect: Connect;
  readonly server: SharedServerOptions;
  /** A client has come: it will want a sandbox. */
  readonly onClient: () => void;
  readonly routes: readonly HttpRoutes[];
}

/** A server that listens. */
export interface HttpServing {
  /** Where MCP is. */
  readonly url: string;
  /** Resolves, never rejects, when all is over. */
  readonly done: Promise<void>;
  /** Takes no more work, lets what runs go on for a while, and ends; a second call ends the grace. */
  close(): Promise<void>;
}

/** Listens for MCP clients by HTTP. Throws where the settings would let everybody in, and where it cannot listen. */
export async function serveHttp(options: HttpServiceOptions): Promise<HttpServing> {
  const { config, log, connect, server, onClient } = options;
  const { http } = config;
  refuseOpenDoors(http);
  refuseUnknownAddress(http);
  const verifiers: TokenVerifier[] = [];
  if (http.tokens.length > 0 || http.tokenFile !== undefined) {
    const tokens = await HttpTokens.load(http, log);
    verifiers.push(createStaticTokens(() => tokens.read()));
  }
  let url = "";
  const { oauth } = http;
  const resource = () => http.publicUrl ?? url;
  const routes = [...options.routes];
  if (oauth !== undefined) {
    verifiers.push(createJwtTokens({ ...oauth, audience: () => oauth.audience ?? resource(), log }));
    routes.push(createMetadataRoutes({ resource, issuer: oauth.issuer, scopes: oauth.scopes }));
  }
  let isDraining = false;
  const endpoint = createMcpEndpoint({ connect, server, limits: config.sessions, onClient, log });
  const app = createHttpApp({
    path: http.path,
    endpoint,
    authenticator: createAuthenticator({
      verifiers,
      challenge: oauth && (() => ({ metadataUrl: metadataUrlOf(resource()), scopes: oauth.scopes })),
    }),
    hosts: { hosts: hostsOf(http), origins: http.allowOrigins },
    routes,
    isDraining: () => isDraining,
    log,
  });
  const listening = listen({ app, host: http.host, port: http.port, log });
  url = `http://${urlHost(http.host)}:${listening.port}${http.path}`;
  const hurry = new AbortController();
  const done = Promise.withResolvers<void>();
  const end = async () => {
    await endpoint.close(http.graceMs, hurry.signal).finally(() => listening.close());
  };
  return {
    url,
    done: done.promise,
    close() {
      if (isDraining) hurry.abort();
      else
        end()
          .catch((error: unknown) => log.warning("could not end in order", { error: String(error) }))
          .then(done.resolve);
      isDraining = true;
      return done.promise;
    },
  };
}

/** Whoever reaches the server runs code: on an address that others reach, it must know who they are. */
function refuseOpenDoors({ host, tokens, tokenFile, oauth, insecureNoAuth }: HttpSettings): void {
  const isAuthenticated = tokens.length > 0 || tokenFile !== undefined || oauth !== undefined;
  if (isAuthenticated || isLoopback(host) || insecureNoAuth) return;
  const message = `"${host}" is reached from other machines, and nobody would have to say who they are: expected authentication`;
  throw new BridgeError("CONFIG_INVALID", message, {
    hint: "Give --token-file or --issuer, or listen on 127.0.0.1; --insecure-no-auth lets everybody run code here.",
  });
}

/** A token is made out to an address, and clients find the issuer by it: it must be the one that they use. */
function refuseUnknownAddress({ host, oauth, publicUrl }: HttpSettings): void {
  if (oauth === undefined || publicUrl !== undefined || isLoopback(host)) return;
  throw new BridgeError(
    "CONFIG_INVALID",
    `with --issuer, clients must be told by which address they reach "${host}"`,
    {
      hint: "Give --public-url, such as https://tools.example.com/mcp.",
    },
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The names by which clients can mean this server. A name that leads to it is one only if somebody says so. */
function hostsOf({ host, allowHosts, publicUrl }: HttpSettings): readonly string[] {
  const own = isWildcard(host)
    ? Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => urlHost(address)))
    : [urlHost(host)];
  const named = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  const isHere = isLoopback(host) || isWildcard(host);
  return [...(isHere ? LOOPBACK_HOSTS : []), ...own, ...named, ...allowHosts];
}
