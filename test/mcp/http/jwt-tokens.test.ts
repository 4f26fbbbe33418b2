import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { Provider } from "oidc-provider";
import { createAuthenticator } from "../../../src/mcp/http/authenticator.ts";
import { LOOPBACK_HOSTS } from "../../../src/mcp/http/host-guard.ts";
import { createHttpApp } from "../../../src/mcp/http/http-app.ts";
import { createJwtTokens, type JwtOptions } from "../../../src/mcp/http/jwt-tokens.ts";
import { createMetadataRoutes, metadataUrlOf } from "../../../src/mcp/http/resource-metadata.ts";
import { createMemoryLog } from "../../helpers/logs.ts";

const AUDIENCE = "https://tools.example.com/mcp";

/** An issuer on a port of this machine that does what a test says. */
class Issuer {
  readonly asked: string[] = [];
  metadata: object | undefined;
  keys: object[] = [];
  answer: ((path: string) => Response | Promise<Response> | undefined) | undefined;
  readonly #server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      this.asked.push(pathname);
      const own = await this.answer?.(pathname);
      if (own !== undefined) return own;
      if (pathname === "/jwks") return Response.json({ keys: this.keys });
      if (pathname === "/.well-known/openid-configuration" && this.metadata !== undefined)
        return Response.json(this.metadata);
      return new Response(null, { status: 404 });
    },
  });

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }
}

const issuer = new Issuer();
let own: { publicKey: CryptoKey; privateKey: CryptoKey };
let foreign: { privateKey: CryptoKey };

beforeAll(async () => {
  own = await generateKeyPair("ES256", { extractable: true });
  foreign = await generateKeyPair("ES256");
  issuer.keys = [{ ...(await exportJWK(own.publicKey)), kid: "k1", alg: "ES256" }];
  issuer.metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` };
});
afterAll(() => issuer.stop());

const now = () => Math.floor(Date.now() / 1000);
const claims = (more: JWTPayload = {}): JWTPayload => ({
  iss: issuer.url,
  aud: AUDIENCE,
  sub: "u1",
  iat: now(),
  exp: now() + 60,
  ...more,
});
const sign = (payload: JWTPayload, key = own.privateKey, header = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: "k1", ...header }).sign(key);

function verifier(more: Partial<JwtOptions> = {}) {
  const log = createMemoryLog();
  const options = { issuer: issuer.url, audience: () => AUDIENCE, jwks: undefined, scopes: [], log };
  return createJwtTokens({ ...options, ...more });
}

describe("a token of the issuer", () => {
  test.each([
    ["as it should be", {}, { id: "u1", name: "u1" }],
    ["for several", { aud: ["x", AUDIENCE] }, { id: "u1", name: "u1" }],
    ["with a name", { preferred_username: "ann" }, { id: "u1", name: "ann" }],
    ["that ended within the skew of clocks", { exp: now() - 10 }, { id: "u1", name: "u1" }],
    ["good for more than is wanted", { scope: "a mcp b" }, { id: "u1", name: "u1" }],
  ] as const)("%s says whose it is", async (_, more, { id, name }) => {
    const identity = await verifier().verify(await sign(claims(more as JWTPayload)));
    expect(identity).toEqual({ kind: "caller", caller: { id: `${issuer.url}|${id}`, name } });
  });

  test.each([
    ["that has expired", { exp: now() - 120 }, "it has expired"],
    ["that never expires", { exp: undefined }, '"exp" is not as expected'],
    ["that is not valid yet", { nbf: now() + 600 }, '"nbf" is not as expected'],
    ["for somebody else", { aud: "https://tools.example.com" }, '"aud" is not as expected'],
    ["for nobody", { aud: undefined }, '"aud" is not as expected'],
    ["of nobody", { sub: undefined }, '"sub" is not as expected'],
    ["of an empty subject", { sub: "" }, '"sub" is empty or too long'],
    ["of a number", { sub: 7, preferred_username: "ada" }, '"sub" is not text'],
    ["of an object", { sub: { id: 1 }, preferred_username: "ada" }, '"sub" is not text'],
    ["of a subject that is too long", { sub: "x".repeat(300) }, '"sub" is empty or too long'],
    ["of another issuer", { iss: "https://evil.example" }, "not one that this server knows"],
  ] as const)("%s is refused", async (_, more, reason) => {
    const identity = await verifier().verify(await sign(claims(more as unknown as JWTPayload)));
    expect(identity).toEqual({ kind: "unknown", reason: expect.stringContaining(reason) });
  });

  test("has a name without what a terminal acts on", async () => {
    const identity = await verifier().verify(
      await sign(claims({ preferred_username: "a\u001b[31m\u202eb\n" })),
    );
    expect(identity).toMatchObject({ kind: "caller", caller: { name: "a\ufffd[31m\ufffdb\ufffd" } });
  });

  test.each([
    ["signed by another key", () => sign(claims(), foreign.privateKey), "signature"],
    [
      "signed by a key that nobody knows",
      () => sign(claims(), foreign.privateKey, { kid: "k9" }),
      "signature",
    ],
    ["not signed", async () => new UnsecuredJWT(claims()).encode(), "not one that this server knows"],
    [
      "signed by the public key as a secret",
      async () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: "HS256", kid: "k1" })
          .sign(new TextEncoder().encode(await exportSPKI(own.publicKey))),
      "not one that this server knows",
    ],
    [
      "changed after it was signed",
      async () => {
        const [header, , signature] = (await sign(claims())).split(".");
        const payload = Buffer.from(JSON.stringify(claims({ sub: "admin" }))).toString("base64url");
        return `${header}.${payload}.${signature}`;
      },
      "signature",
    ],
    [
      "with keys of its own",
      () => sign(claims(), foreign.privateKey, { kid: "k9", jku: "http://127.0.0.1:1/k" }),
      "signature",
    ],
    ["no JWT", async (): Promise<string> => "abc", "not one that this server knows"],
    ["half a JWT", async () => (await sign(claims())).slice(0, -20), "signature"],
  ] as const)("%s is refused", async (_, make, reason) => {
    expect(await verifier().verify(await make())).toEqual({
      kind: "unknown",
      reason: expect.stringContaining(reason),
    });
  });

  test.each([
    [{ scope: "mcp" }, "forbidden"],
    [{ scope: "mcp tools" }, "caller"],
    [{ scp: ["tools", "mcp"] }, "caller"],
    [{ scp: "mcp" }, "forbidden"],
    [{}, "forbidden"],
  ] as const)("with %j is %s where two scopes are needed", async (more, kind) => {
    const token = await sign(claims(more as unknown as JWTPayload));
    expect((await verifier({ scopes: ["mcp", "tools"] }).verify(token)).kind).toBe(kind);
  });
});

describe("the issuer", () => {
  test("NBR-9: is asked once for many tokens, and not at all for what is none of its own", async () => {
    const tokens = verifier();
    issuer.asked.length = 0;
    await tokens.verify("junk");
    await tokens.verify(await sign(claims({ iss: "https://evil.example" })));
    expect(issuer.asked).toEqual([]);
    const good = await sign(claims());
    const kinds = await Promise.all(Array.from({ length: 50 }, () => tokens.verify(good)));
    expect(new Set(kinds.map(({ kind }) => kind))).toEqual(new Set(["caller"]));
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/jwks"]);
    // A key that nobody knows does not make us ask for each token.
    const unknown = await sign(claims(), foreign.privateKey, { kid: "k9" });
    for (let n = 0; n < 20; n++) await tokens.verify(unknown);
    expect(issuer.asked.length).toBe(2);
  });

  test.each([
    ["is down", () => new Response(null, { status: 500 })],
    ["sends the way elsewhere", () => Response.redirect("http://127.0.0.1:1/")],
    ["says nonsense", () => new Response("<html>")],
    ["says too much", () => new Response("x".repeat(1 << 20))],
    ["is another", () => Response.json({ issuer: "https://evil.example", jwks_uri: `${issuer.url}/jwks` })],
  ] as const)("that %s is no fault of the token, and is left alone for a while", async (_, answer) => {
    issuer.answer = answer;
    issuer.asked.length = 0;
    const tokens = verifier();
    const good = await sign(claims());
    try {
      for (let n = 0; n < 20; n++) expect((await tokens.verify(good)).kind).toBe("unavailable");
      expect(issuer.asked.length).toBe(2);
    } finally {
      issuer.answer = undefined;
    }
  });

  test("need not describe itself where its keys are given", async () => {
    issuer.asked.length = 0;
    const tokens = verifier({ jwks: `${issuer.url}/jwks` });
    expect((await tokens.verify(await sign(claims()))).kind).toBe("caller");
    expect(issuer.asked).toEqual(["/jwks"]);
  });
});

describe("a client", () => {
  const create = (scopes: readonly string[] = []) =>
    createHttpApp({
      path: "/mcp",
      endpoint: { handle: async ({ caller }) => Response.json(caller) },
      authenticator: createAuthenticator({
        verifiers: [verifier({ scopes })],
        challenge: () => ({ metadataUrl: metadataUrlOf(AUDIENCE), scopes }),
      }),
      hosts: { hosts: LOOPBACK_HOSTS, origins: [] },
      routes: [createMetadataRoutes({ resource: () => AUDIENCE, issuer: issuer.url, scopes })],
      isDraining: () => false,
      log: createMemoryLog(),
    });
  const ask = (app: ReturnType<typeof create>, path: string, token?: string) =>
    app.request(path, {
      headers: { host: "localhost", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    });
  const METADATA = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";

  test("without a token is told where to get one", async () => {
    const app = create(["mcp"]);
    const refused = await ask(app, "/mcp");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      `Bearer realm="sandpy", scope="mcp", resource_metadata="${METADATA}"`,
    ]);
    for (const path of ["/.well-known/oauth-protected-resource", new URL(METADATA).pathname]) {
      expect(await (await ask(app, path)).json()).toEqual({
        resource: AUDIENCE,
        authorization_servers: [issuer.url],
        bearer_methods_supported: ["header"],
        resource_name: "Sandpy",
        scopes_supported: ["mcp"],
      });
    }
  });

  test("with a token that is not enough is told what is", async () => {
    const refused = await ask(create(["mcp"]), "/mcp", await sign(claims({ scope: "other" })));
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toMatch(
      /^Bearer realm="sandpy", error="insufficient_scope", .*scope="mcp", resource_metadata="https:/,
    );
  });

  test("is let in by a token of a real authorization server", async () => {
    const listener = createServer((request, response) => provider.callback()(request, response));
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    const provider = new Provider(url, {
      clients: [
        {
          client_id: "c1",
          client_secret: "s1",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({ scope: "mcp", audience: AUDIENCE, accessTokenFormat: "jwt" }),
        },
      },
    });
    try {
      const answer = await fetch(`${url}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("c1:s1")}` },
        body: new URLSearchParams({ grant_type: "client_credentials", resource: AUDIENCE, scope: "mcp" }),
      });
      const { access_token: token } = (await answer.json()) as { access_token: string };
      const identity = await verifier({ issuer: url, scopes: ["mcp"] }).verify(token);
      expect(identity).toEqual({ kind: "caller", caller: { id: `${url}|c1`, name: "c1" } });
    } finally {
      listener.closeAllConnections();
      listener.close();
    }
  });
});
