import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveHttp } from "../../src/app/http-service.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { SettingName } from "../../src/config/schema.ts";
import type { BridgeError } from "../../src/core/errors.ts";
import { createEchoRunner } from "../fixtures/mcp/echo-runner.ts";
import { INITIALIZE } from "../helpers/http-world.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { SERVER_OPTIONS } from "../helpers/mcp-peers.ts";

const A = "0123456789abcdef";
const B = "fedcba9876543210";
const folder = mkdtempSync(join(tmpdir(), "sandpy-http-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function start(settings: Partial<Record<SettingName, string>>) {
  const log = createMemoryLog();
  const config = loadConfig({ HOME: folder }, { MCP_BRIDGE_HTTP_PORT: "0", ...settings });
  const service = await serveHttp({
    config,
    log,
    server: { ...SERVER_OPTIONS, log },
    onClient: () => undefined,
    routes: [],
    connect: async () => ({ runner: createEchoRunner(), close: async () => undefined }),
  });
  const { port, origin } = new URL(service.url.replace(/0\.0\.0\.0/, "127.0.0.1"));
  const ask = (headers: Record<string, string>) =>
    fetch(`${origin}${config.http.path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }),
    }).then(({ status }) => status);
  return { service, log, port, origin, ask, [Symbol.asyncDispose]: () => service.close() };
}

const faultOf = (settings: Partial<Record<SettingName, string>>): Promise<BridgeError> =>
  start(settings).then(
    async ({ service }) => {
      await service.close();
      throw new Error("it serves");
    },
    (error: BridgeError) => error,
  );

describe("an address that others reach", () => {
  test.each(["0.0.0.0", "::", "192.0.2.1", "example.internal", "127.0.0.1.example"])(
    "%s is not listened on without authentication",
    async (host) => {
      const { code, hint } = await faultOf({ MCP_BRIDGE_HTTP_HOST: host });
      expect([code, hint]).toEqual(["CONFIG_INVALID", expect.stringContaining("--insecure-no-auth")]);
    },
  );

  test("CLI-11: is listened on with a token, and by its addresses alone", async () => {
    await using world = await start({ MCP_BRIDGE_HTTP_HOST: "0.0.0.0", MCP_BRIDGE_HTTP_TOKEN: A });
    const authorization = `Bearer ${A}`;
    expect(await world.ask({})).toBe(401);
    expect(await world.ask({ authorization })).toBe(200);
    expect(await world.ask({ authorization, host: "evil.example" })).toBe(403);
    expect(await world.ask({ authorization, host: "0.0.0.0" })).toBe(403);
  });

  test("is listened on where somebody says in so many words that all may come", async () => {
    const settings = { MCP_BRIDGE_HTTP_HOST: "0.0.0.0", MCP_BRIDGE_HTTP_INSECURE_NO_AUTH: "1" };
    await using world = await start(settings);
    expect(await world.ask({})).toBe(200);
  });

  test("must be known to clients where an issuer gives out tokens for it", async () => {
    const settings = { MCP_BRIDGE_HTTP_HOST: "0.0.0.0", MCP_BRIDGE_HTTP_ISSUER: "https://idp.example" };
    expect((await faultOf(settings)).hint).toContain("--public-url");
  });
});

describe("a server on this machine", () => {
  test("needs no token, and answers to no other name", async () => {
    await using world = await start({ MCP_BRIDGE_HTTP_ALLOW_HOSTS: "tools.example" });
    expect(await world.ask({})).toBe(200);
    expect(await world.ask({ host: `localhost:${world.port}` })).toBe(200);
    expect(await world.ask({ host: "tools.example" })).toBe(200);
    expect(await world.ask({ host: "evil.example" })).toBe(403);
    expect(await world.ask({ origin: "https://evil.example" })).toBe(403);
  });

  test("tells who has no token where the issuer is", async () => {
    const settings = { MCP_BRIDGE_HTTP_ISSUER: "http://127.0.0.1:1", MCP_BRIDGE_HTTP_PATH: "/a/mcp" };
    await using world = await start(settings);
    const refused = await fetch(world.service.url, { method: "POST" });
    const place = `${world.origin}/.well-known/oauth-protected-resource/a/mcp`;
    expect(refused.headers.get("www-authenticate")).toBe(
      `Bearer realm="sandpy", resource_metadata="${place}"`,
    );
    expect(await (await fetch(place)).json()).toMatchObject({
      resource: world.service.url,
      authorization_servers: ["http://127.0.0.1:1"],
    });
  });

  test("is known by its public address behind a proxy", async () => {
    const settings = {
      MCP_BRIDGE_HTTP_ISSUER: "https://idp.example",
      MCP_BRIDGE_HTTP_PUBLIC_URL: "https://tools.example/team/mcp",
    };
    await using world = await start(settings);
    const refused = await fetch(world.service.url, { method: "POST", headers: { host: "tools.example" } });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="sandpy", resource_metadata="https://tools.example/.well-known/oauth-protected-resource/team/mcp"',
    ]);
  });
});

describe("the file of tokens", () => {
  const file = join(folder, "tokens");
  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 });

  test("is read again when it changed, and what it said holds while it is not usable", async () => {
    write(`alice ${A}\n`);
    await using world = await start({ MCP_BRIDGE_HTTP_TOKEN_FILE: file });
    /** Without a session a request goes no further than to the question for one. */
    const isKnown = async (token: string) => {
      const answer = await fetch(world.service.url, { headers: { authorization: `Bearer ${token}` } });
      return answer.status === 400;
    };
    expect([await isKnown(A), await isKnown(B)]).toEqual([true, false]);
    write("alice\n");
    const isSaid = () => world.log.lines.some((line) => line.includes("the file of tokens is not usable"));
    while (!isSaid()) expect(await isKnown(A)).toBe(true);
    write(`bob ${B}\n`);
    while (!(await isKnown(B)));
    while (await isKnown(A));
  });

  test("must be usable at the start", async () => {
    write("alice short\n");
    expect((await faultOf({ MCP_BRIDGE_HTTP_TOKEN_FILE: file })).code).toBe("CONFIG_INVALID");
  });
});
