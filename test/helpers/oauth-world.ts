import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { serveHttp, serveSessions } from "./http-servers.ts";

/** What a test may set before, and read afterwards. */
export interface OAuthWorld extends AsyncDisposable {
  /** The MCP server, which wants a token for `SCOPE`. */
  readonly url: string;
  readonly issuer: string;
  /** What was asked of the authorization server: method and path. */
  readonly asked: string[];
  /** How often the tool `add` has run. */
  readonly adder: { runs: number };
  /** Makes the server refuse the tokens that it accepted so far. */
  revokeTokens(): void;
  /** Makes the authorization server refuse every refresh. */
  refusesRefresh: boolean;
  /** The scope that the server wants from now on. */
  wants: string;
}

/** A real authorization server (oidc-provider), with registration, PKCE, resource indicators and rotation of refresh tokens, in front of a real MCP server. */
export async function createOAuthWorld(options: { tokenSeconds?: number } = {}): Promise<OAuthWorld> {
  const mcp = serveSessions();
  const asked: string[] = [];
  let revoked = new Set<string>();
  let accepted = new Set<string>();
  const listener = createServer((request, response) => {
    asked.push(`${request.method} ${new URL(request.url ?? "", "http://x").pathname}`);
    if (world.refusesRefresh && request.url === "/token") {
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
      return;
    }
    provider.callback()(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    cookies: { keys: ["test"] },
    scopes: ["openid", "offline_access", "tools:read", "tools:write"],
    ttl: {
      AccessToken: options.tokenSeconds ?? 3600,
      RefreshToken: 86_400,
      Session: 3600,
      Grant: 86_400,
      Interaction: 600,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    clientBasedCORS: () => false,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => server.url,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "tools:read tools:write",
          audience: server.url,
          accessTokenFormat: "opaque",
          accessTokenTTL: options.tokenSeconds ?? 3600,
        }),
      },
    },
  });
  const server = serveHttp(async (request) => {
    const { pathname, origin } = new URL(request.url);
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    if (request.url === metadata) {
      return Response.json({
        resource: server.url,
        authorization_servers: [issuer],
        scopes_supported: ["tools:read"],
      });
    }
    if (pathname !== "/mcp") return new Response(null, { status: 404 });
    const bearer = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    const token = bearer === "" || revoked.has(bearer) ? undefined : await provider.AccessToken.find(bearer);
    const challenge = (error: string) =>
      `Bearer ${error}resource_metadata="${metadata}", scope="${world.wants}"`;
    if (token === undefined || token.isExpired) {
      return new Response(null, { status: 401, headers: { "www-authenticate": challenge("") } });
    }
    if (!world.wants.split(" ").every((scope) => token.scopes.has(scope))) {
      const headers = { "www-authenticate": challenge('error="insufficient_scope", ') };
      return new Response(null, { status: 403, headers });
    }
    accepted.add(bearer);
    const { method, headers } = request;
    const body = method === "POST" ? await request.text() : undefined;
    return fetch(mcp.url, { method, headers, ...(body === undefined ? {} : { body }) });
  });
  const world: OAuthWorld = {
    url: server.url,
    issuer,
    asked,
    adder: mcp.adder,
    revokeTokens: () => {
      revoked = revoked.union(accepted);
      accepted = new Set();
    },
    refusesRefresh: false,
    wants: "tools:read",
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await mcp[Symbol.asyncDispose]();
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return world;
}

/** Does what a person with a browser does: follows redirects, signs in as somebody, agrees to all; returns the last page. */
export async function browse(url: string): Promise<string> {
  const cookies = new Map<string, string>();
  let next: { url: string; form?: URLSearchParams } = { url };
  for (let step = 0; step < 20; step++) {
    const response = await fetch(next.url, {
      method: next.form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(next.form === undefined ? {} : { body: next.form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    if (location !== null) next = { url: new URL(location, next.url).href };
    else if (action !== undefined) next = { url: new URL(action, next.url).href, form: fill(page) };
    else return page;
  }
  throw new Error("the sign-in does not end");
}

function fill(page: string): URLSearchParams {
  const form = new URLSearchParams();
  for (const [input] of page.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]+)"/.exec(input)?.[1];
    if (name !== undefined) form.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? "somebody");
  }
  return form;
}
