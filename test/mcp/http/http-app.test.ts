import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createAuthenticator } from "../../../src/mcp/http/authenticator.ts";
import { LOOPBACK_HOSTS } from "../../../src/mcp/http/host-guard.ts";
import { createHttpApp, type HttpAppOptions, type McpRequest } from "../../../src/mcp/http/http-app.ts";
import { createStaticTokens } from "../../../src/mcp/http/static-tokens.ts";
import { createMemoryLog } from "../../helpers/logs.ts";

type Body = Exclude<RequestInit["body"], null | undefined>;

const TOKEN = "a-token-of-alice-0001";
const ORIGIN = "https://app.example.com";
const digest = (token: string) => createHash("sha256").update(token).digest();
const TOKENS = [
  { name: "alice", digest: digest(TOKEN) },
  { name: "bob", digest: digest("a-token-of-bob-000001") },
];

/** An app whose MCP says who asked for what, and notes it. */
function createWorld(options: Partial<HttpAppOptions> & { readonly isOpen?: boolean } = {}) {
  const served: McpRequest[] = [];
  const log = createMemoryLog();
  const verifiers = options.isOpen === true ? [] : [createStaticTokens(async () => TOKENS)];
  const app = createHttpApp({
    path: "/mcp",
    endpoint: {
      async handle(request) {
        served.push(request);
        return Response.json({ caller: request.caller, body: request.body });
      },
    },
    authenticator: createAuthenticator({ verifiers }),
    hosts: { hosts: LOOPBACK_HOSTS, origins: [ORIGIN] },
    routes: [],
    isDraining: () => false,
    log,
    ...options,
  });
  const send = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    app.request(path, { ...init, headers: { host: "localhost", ...init.headers } });
  const post = (headers: Record<string, string>, body: Body = '{"a":1}') =>
    send("/mcp", { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  return { app, served, log, send, post };
}

const BEARER = { authorization: `Bearer ${TOKEN}` };

describe("a token", () => {
  test.each([
    [`Bearer ${TOKEN}`, "token:alice"],
    [`bearer  ${TOKEN} `, "token:alice"],
    ["Bearer a-token-of-bob-000001", "token:bob"],
  ])("in %p is that of %s", async (authorization, id) => {
    const { post, served } = createWorld();
    expect((await post({ authorization })).status).toBe(200);
    expect(served.map(({ caller }) => caller.id)).toEqual([id]);
  });

  test.each([
    ["none", {}, 'Bearer realm="sandpy"'],
    ["another scheme", { authorization: `Basic ${TOKEN}` }, 'Bearer realm="sandpy"'],
    ["no scheme", { authorization: TOKEN }, 'Bearer realm="sandpy"'],
    ["several", { authorization: `Bearer ${TOKEN}, Bearer ${TOKEN}` }, 'Bearer realm="sandpy"'],
    ["the start of one", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }, "invalid_token"],
    ["one with more behind", { authorization: `Bearer ${TOKEN}1` }, "invalid_token"],
    ["one in other letters", { authorization: `Bearer ${TOKEN.toUpperCase()}` }, "invalid_token"],
    ["its hash", { authorization: `Bearer ${digest(TOKEN).toString("hex")}` }, "invalid_token"],
    ["one of a megabyte", { authorization: `Bearer ${"x".repeat(1 << 20)}` }, "invalid_token"],
  ])("that is %s gets 401, whatever the body is", async (_, headers, challenge) => {
    const { post, served, log } = createWorld();
    const answer = await post({ ...headers, "content-type": "text/plain" }, "no JSON");
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain(challenge);
    expect(served).toEqual([]);
    expect(log.lines.join("")).not.toContain(TOKEN.slice(0, 8));
  });

  test("in the address counts for nothing", async () => {
    const { send } = createWorld();
    const answer = await send(`/mcp?access_token=${TOKEN}&token=${TOKEN}`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(401);
  });

  test("is not needed where none is configured", async () => {
    const { post, served } = createWorld({ isOpen: true });
    expect((await post({})).status).toBe(200);
    expect(served.map(({ caller }) => caller.id)).toEqual(["local"]);
  });
});

describe("a body", () => {
  test("CLI-12: is not read before its sender is known", async () => {
    let isRead = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          isRead = true;
          controller.enqueue(new TextEncoder().encode("{}"));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    expect((await createWorld().post({}, body as unknown as Body)).status).toBe(401);
    expect(isRead).toBe(false);
  });

  test.each([
    ["text", { "content-type": "text/plain" }, "{}", 415],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }, "a=b", 415],
    ["parts", { "content-type": "multipart/form-data; boundary=x" }, "--x--", 415],
    ["JSON by the look of its name", { "content-type": "text/plain; application/json" }, "{}", 415],
    ["packed", { "content-encoding": "gzip" }, "{}", 415],
    ["no JSON", {}, "{", 400],
    ["nothing", {}, "", 400],
    ["no UTF-8", {}, new Uint8Array([0x22, 0xff, 0x22]), 400],
    ["said to be too long", { "content-length": "99999999" }, "{}", 413],
    ["of more values than there is memory for", {}, `[${"{},".repeat(1_200_000)}0]`, 413],
    ["JSON", { "content-type": "application/json; charset=utf-8" }, "{}", 200],
  ])("that is %s", async (_, headers, body, status) => {
    const { post, served } = createWorld();
    expect((await post({ ...BEARER, ...(headers as Record<string, string>) }, body)).status).toBe(status);
    expect(served.length).toBe(status === 200 ? 1 : 0);
  });

  test("of no declared length is read up to the limit", async () => {
    const { post } = createWorld();
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1 << 20).fill(0x20));
      },
    });
    expect((await post(BEARER, endless as unknown as Body)).status).toBe(413);
    expect(sent).toBeLessThan(40);
  });
});

describe("bodies", () => {
  /** Of so many MiB of white space, of which the end does not come before `gate`; `onRead` is told that the rest was read. */
  const slow = (mib: number, gate: Promise<void>, onRead = () => {}) => {
    let left = mib;
    return new ReadableStream({
      async pull(controller) {
        if (left > 0) controller.enqueue(new Uint8Array(1 << 20).fill(0x20));
        else {
          onRead();
          await gate;
          controller.enqueue(new TextEncoder().encode("{}"));
          controller.close();
        }
        left -= 1;
      },
    }) as unknown as Body;
  };

  test("CLI-15: of one caller leave room for those of others, and make room when they are read", async () => {
    const { post: send } = createWorld();
    /** Reads the answer: until then the request is open. */
    const post = async (...args: Parameters<typeof send>) => {
      const answer = await send(...args);
      await answer.arrayBuffer();
      return answer;
    };
    const gate = Promise.withResolvers<void>();
    const bob = { authorization: "Bearer a-token-of-bob-000001" };
    const read = Promise.withResolvers<void>();
    const first = post(BEARER, slow(30, gate.promise, read.resolve));
    await read.promise;
    const waiting = new Set(Array.from({ length: 31 }, () => post(BEARER, slow(1, gate.promise))));
    const tooMany = await post(BEARER, slow(1, gate.promise));
    expect([tooMany.status, tooMany.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await post(bob, slow(20, Promise.resolve()))).status).toBe(200);
    const early = await Promise.race([...waiting, Bun.sleep(0)]);
    expect(early).toBeUndefined();
    gate.resolve();
    expect((await first).status).toBe(200);
    for (const each of waiting) expect((await each).status).toBe(200);
  });
});

describe("a page of another site", () => {
  test("is refused before anything else", async () => {
    const { post, served } = createWorld();
    const answer = await post({ ...BEARER, origin: "https://evil.com" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    expect(served).toEqual([]);
  });

  test("may ask where its origin is allowed, and read what clients need", async () => {
    const { post, send } = createWorld();
    const preflight = await send("/mcp", {
      method: "OPTIONS",
      headers: { origin: ORIGIN, "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, ORIGIN]);
    const allowed = preflight.headers.get("access-control-allow-headers");
    for (const name of ["Mcp-Session-Id", "Traceparent"]) expect(allowed).toContain(name);
    const answer = await post({ ...BEARER, origin: ORIGIN });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, ORIGIN]);
    expect(answer.headers.get("access-control-expose-headers")).toContain("Mcp-Session-Id");
    expect(answer.headers.get("vary")).toContain("Origin");
  });

  test("CLI-19: gets no leave by a preflight", async () => {
    const { send } = createWorld();
    const headers = { origin: "null", "access-control-request-method": "POST" };
    const preflight = await send("/mcp", { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});

describe("an answer", () => {
  test("has the id of its request, the sender's own where it is one", async () => {
    const { post, log } = createWorld();
    expect((await post({ ...BEARER, "x-request-id": "abc-1" })).headers.get("x-request-id")).toBe("abc-1");
    expect(log.lines.at(-1)).toMatch(/request=abc-1 caller=token:alice method=POST path=\/mcp status=200/);
    const made = (await post({ ...BEARER, "x-request-id": "a\tb" })).headers.get("x-request-id");
    expect(made).toMatch(/^[\w-]{12}$/);
  });

  test("is 404 where nothing is", async () => {
    expect((await createWorld().send("/sse", { headers: BEARER })).status).toBe(404);
  });

  test("is 503 to new work at the end", async () => {
    const { post, served } = createWorld({ isDraining: () => true });
    const answer = await post(BEARER);
    expect([answer.status, answer.headers.get("retry-after"), served]).toEqual([503, "5", []]);
  });

  test("hides what failed inside, which the log has", async () => {
    const { post, log } = createWorld({
      endpoint: { handle: () => Promise.reject(new Error("secret detail")) },
    });
    const answer = await post(BEARER);
    expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining("secret")]);
    expect(log.lines.join("")).toContain("secret detail");
  });
});

describe("open requests", () => {
  test("EXH-19: are counted until their answer is read or dropped, for each caller", async () => {
    const streams: ReadableStreamDefaultController[] = [];
    const { post } = createWorld({
      endpoint: {
        handle: async () => new Response(new ReadableStream({ start: (c) => void streams.push(c) })),
      },
    });
    const open = await Promise.all(Array.from({ length: 128 }, () => post(BEARER)));
    const refused = await post(BEARER);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect((await post({ authorization: "Bearer a-token-of-bob-000001" })).status).toBe(200);
    await open[0]?.body?.cancel();
    expect((await post(BEARER)).status).toBe(200);
    expect((await post(BEARER)).status).toBe(429);
    streams[1]?.close();
    await open[1]?.text();
    expect((await post(BEARER)).status).toBe(200);
  });
});

describe("other routes", () => {
  test("are public, or behind the same authentication", async () => {
    const { send } = createWorld({
      routes: [
        (app, guards) => {
          app.get("/open", (c) => c.text("open"));
          app.get("/mine", guards.authenticated, (c) => c.text(c.get("caller").name));
        },
      ],
    });
    expect(await (await send("/open")).text()).toBe("open");
    expect((await send("/open", { headers: { host: "evil.com" } })).status).toBe(403);
    expect((await send("/mine")).status).toBe(401);
    expect(await (await send("/mine", { headers: BEARER })).text()).toBe("alice");
  });
});
