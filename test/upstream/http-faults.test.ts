import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/core/log.ts";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";
import { connectServer, type Killable } from "../../src/upstream/connect.ts";
import { Remembered } from "../../src/upstream/remembered.ts";
import { serveHttp, serveTool } from "../helpers/http-servers.ts";
import { createRig, ENV, faultOf, type Rig, remote, scripted, soon, soonAfter } from "./harness.ts";

const MIB = 1024 ** 2;

const call = (rig: Rig, signal = soon()) =>
  rig.upstream.callTool({ server: "web", tool: "t", arguments: {} }, signal);

/** A body that goes on as long as somebody reads it. */
function endless(chunk: string, headers: Record<string, string>, first = ""): Response {
  const bytes = new TextEncoder().encode(chunk);
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (isFirst && first !== "") controller.enqueue(new TextEncoder().encode(first));
      isFirst = false;
      controller.enqueue(bytes);
    },
  });
  return new Response(body, { headers });
}

const JSON_TYPE = { "content-type": "application/json" };
const EVENTS = { "content-type": "text/event-stream" };
const answer = (id: unknown, result: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result });
const WIDE = "the answer has more values than are read at once; ask for less";
const lists = (id: unknown) =>
  new Response(`{"jsonrpc":"2.0","id":${id},"result":{"a":[${"[],".repeat(3e6)}0]}}`, { headers: JSON_TYPE });
const WHAT = 'the call of tool "t" of server "web"';
const TOO_LONG = `${WHAT} failed: the answer has more than ${32 * MIB} bytes, more than the ${24 * MIB} allowed`;

describe("UPS-13: an answer that is hostile fails its call alone", () => {
  test.each<[string, (id: unknown) => Response, string, string]>([
    [
      "an endless body",
      () => endless("x".repeat(MIB), JSON_TYPE, '{"jsonrpc":"2.0","id":1,"result":{"a":"'),
      "LIMIT_EXCEEDED",
      TOO_LONG,
    ],
    ["an endless event", () => endless("x".repeat(MIB), EVENTS, "data: "), "LIMIT_EXCEEDED", TOO_LONG],
    [
      "an event of endless lines",
      () => endless(`data: ${"x".repeat(1000)}\n`.repeat(1000), EVENTS),
      "LIMIT_EXCEEDED",
      TOO_LONG,
    ],
    [
      "a bomb of gzip",
      () =>
        new Response(Bun.gzipSync(new Uint8Array(400 * MIB).fill(32)), {
          headers: { ...JSON_TYPE, "content-encoding": "gzip" },
        }),
      "LIMIT_EXCEEDED",
      TOO_LONG,
    ],
    [
      "a result above the limit",
      (id) => new Response(answer(id, { a: "x".repeat(25 * MIB) }), { headers: JSON_TYPE }),
      "LIMIT_EXCEEDED",
      `${WHAT} failed: the result has 26214442 bytes, more than the ${24 * MIB} allowed`,
    ],
    ["a body of more values than there is memory for", lists, "UPSTREAM_FAILED", `${WHAT} failed: ${WIDE}`],
    [
      "a stream that ends without the result",
      () => new Response(": nothing\n\n", { headers: EVENTS }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the server ended its answer before the result: the call may have been carried out`,
    ],
    [
      "a body that answers another request",
      () => new Response(answer("other", {}), { headers: JSON_TYPE }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the server ended its answer before the result: the call may have been carried out`,
    ],
    [
      "an acceptance without an answer",
      () => new Response(null, { status: 202 }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the server ended its answer before the result: the call may have been carried out`,
    ],
    [
      "text that is called JSON",
      () => new Response("<html>", { headers: JSON_TYPE }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the answer is no message of JSON-RPC`,
    ],
    [
      "a page in place of an answer",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      "UPSTREAM_FAILED",
      'server "web" does not speak MCP at URL: Unexpected content type: text/html',
    ],
    [
      "bytes that are no UTF-8 where the message has none",
      () => new Response(new Uint8Array([0xff, 0xfe, 0x7b]), { headers: JSON_TYPE }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the answer is no message of JSON-RPC`,
    ],
    [
      "a result that is no object",
      (id) => new Response(answer(id, [1]), { headers: JSON_TYPE }),
      "UPSTREAM_FAILED",
      `${WHAT} failed: the result is not an object`,
    ],
    [
      "a fault of the server",
      () => new Response("out of\norder", { status: 503 }),
      "UPSTREAM_FAILED",
      'server "web" answered URL with HTTP 503: "out of order"',
    ],
    [
      "a redirect to a file",
      () => new Response(null, { status: 307, headers: { location: "file:///etc/passwd" } }),
      "UPSTREAM_FAILED",
      'server "web" answered URL with HTTP 307: "Error POSTing to endpoint: Redirect to file:///etc/passwd not followed; ' +
        "use that URL as the endpoint if it is the intended server (redirectPolicy: 'same-origin')\"",
    ],
    [
      "an error as JSON-RPC under a status of its own",
      (id) =>
        Response.json(
          { jsonrpc: "2.0", id, error: { code: -32602, message: "no such thing" } },
          { status: 400 },
        ),
      "UPSTREAM_FAILED",
      `${WHAT} was refused: no such thing (JSON-RPC error -32602)`,
    ],
  ])("%s", async (_case, respond, code, message) => {
    let isHostile = true;
    await using server = serveTool((id) => {
      if (!isHostile) return new Response(answer(id, { content: [] }), { headers: JSON_TYPE });
      isHostile = false;
      return respond(id);
    });
    await using rig = createRig([remote("web", server.url)]);

    expect(await faultOf(call(rig))).toMatchObject({ code, message: message.replace("URL", server.url) });
    expect(await call(rig)).toEqual({ content: [] });
    expect(server.methods().filter((method) => method === "tools/call").length).toBe(2);
  });

  test.each<[string, () => Response]>([
    ["an endless stream of other messages", () => endless(`data: ${answer(0, {})}\n\n`, EVENTS)],
    ["a stream of comments", () => endless(": still here\n\n", EVENTS)],
    [
      "a stream that says nothing",
      () =>
        new Response(new ReadableStream({ pull: () => new Promise(() => undefined) }), { headers: EVENTS }),
    ],
    [
      "a body that drips",
      () =>
        new Response(
          new ReadableStream({
            pull: async (controller) => {
              await Bun.sleep(20);
              controller.enqueue(new TextEncoder().encode(" "));
            },
          }),
          { headers: JSON_TYPE },
        ),
    ],
    [
      "a stream that ends with an id again and again",
      () => new Response("id: 1\nretry: 0\ndata:\n\n", { headers: EVENTS }),
    ],
  ])("%s ends with the caller's time", async (_case, respond) => {
    await using server = serveTool(respond);
    await using rig = createRig([remote("web", server.url)]);

    const calls = () => server.methods().filter((method) => method === "tools/call").length;
    expect(
      await faultOf(
        call(
          rig,
          soonAfter(() => calls() > 0, 500),
        ),
      ),
    ).toMatchObject({
      code: "UPSTREAM_TIMEOUT",
    });
    expect(calls()).toBe(1);
    expect(server.seen.length).toBeLessThan(20);
  });
});

test("UPS-13: headers of a definition and tokens in its URL go to no other origin, and into no message", async () => {
  await using thief = serveHttp(() => new Response("got you"));
  await using server = serveTool((_id, request) =>
    Response.redirect(`${thief.url}?k=${new URL(request.url).searchParams.get("key")}`, 307),
  );
  const url = `${server.url.replace("://", "://me:pass-word@")}?key=t0psecret`;
  await using rig = createRig([remote("web", url, { headers: { "X-Key": "k-secret-1" } })]);

  const fault = await faultOf(call(rig));

  expect(fault.message).toContain("not followed");
  expect(thief.seen.length).toBe(0);
  expect(server.seen.at(-1)?.headers.get("authorization")).toBe(`Basic ${btoa("me:pass-word")}`);
  expect(`${JSON.stringify(fault)}${rig.logged.join("\n")}`).not.toMatch(/t0psecret|pass-word|k-secret-1/);
});

test("a redirect within the server's origin is followed, with its headers", async () => {
  await using server = serveTool((id, request) =>
    request.url.endsWith("?again")
      ? Response.json({ jsonrpc: "2.0", id, result: { content: [] } })
      : Response.redirect(`${request.url}?again`, 307),
  );
  await using rig = createRig([remote("web", server.url, { headers: { "X-Key": "k-secret-1" } })]);

  expect(await call(rig)).toEqual({ content: [] });
  expect(server.seen.at(-1)?.headers.get("x-key")).toBe("k-secret-1");
});

describe("a server that is not there", () => {
  const HINT = 'Correct its definition "web" in ~/MCPs/all.json.';

  test.each([
    [
      "unix:///run/mcp.sock",
      'server "web" has a URL that starts with "unix://": expected http:// or https://',
    ],
    ["file:///etc/passwd", 'server "web" has a URL that starts with "file://": expected http:// or https://'],
    ["no url", 'server "web" has a URL that is not valid: expected http://… or https://…'],
    [
      "http://127.0.0.1:1/mcp",
      'server "web" cannot be reached at http://127.0.0.1:1/mcp: the connection was refused',
    ],
    [
      "http://nowhere.invalid/x?key=abcdefgh",
      'server "web" cannot be reached at http://nowhere.invalid/x: its host name is not known',
    ],
  ])("is said to be so: %s", async (url, message) => {
    await using rig = createRig([remote("web", url)]);

    expect(await faultOf(rig.upstream.connect("web", soon()))).toEqual({
      code: "UPSTREAM_UNREACHABLE",
      message,
      hint: HINT,
    });
  });

  test("has a header that HTTP does not allow", async () => {
    await using rig = createRig([
      remote("web", "http://127.0.0.1:1", { headers: { "X-Key": "secret\nX: y" } }),
    ]);

    const fault = await faultOf(rig.upstream.connect("web", soon()));

    expect(fault.message).toBe('server "web" has a header "X-Key" that HTTP does not allow, or its value');
  });

  test.each<[string, (socket: Socket) => unknown, string, string]>([
    [
      "has headers without end",
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(2 * MIB)}\r\n\r\n`),
      "UPSTREAM_FAILED",
      'server "web" failed at URL: the headers of its answer are too large',
    ],
    [
      "speaks something else",
      (socket) => socket.end("220 mail.example ESMTP\r\n"),
      "UPSTREAM_FAILED",
      'server "web" failed at URL: its answer is not HTTP, or has too many headers',
    ],
    ["says nothing", () => undefined, "UPSTREAM_TIMEOUT", 'server "web" did not answer within 0.3 s'],
    [
      "closes every connection",
      (socket) => socket.destroy(),
      "UPSTREAM_FAILED",
      'server "web" closed the connection before it answered',
    ],
  ])("%s", async (_case, greet, code, message) => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => greet(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await using rig = createRig([remote("web", `http://127.0.0.1:${port}/`)], { limits: { connectMs: 300 } });

    const shown = `http://127.0.0.1:${port}/`;
    expect(await faultOf(rig.upstream.connect("web", soon()))).toMatchObject({
      code,
      message: message.replace("URL", shown),
    });
    server.close();
  });
});

test.skipIf(Bun.which("openssl") === null)(
  "a certificate that nobody vouches for is not accepted",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandpy-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const made = Bun.spawnSync(
      `openssl req -x509 -newkey rsa:2048 -nodes -keyout ${key} -out ${cert} -days 1 -subj /CN=localhost`.split(
        " ",
      ),
    );
    expect(made.exitCode).toBe(0);
    const server = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch: () => new Response(),
    });
    const shown = `https://localhost:${server.port}/`;
    await using rig = createRig([remote("web", shown), remote("plain", shown.replace("https", "http"))]);

    expect(await faultOf(rig.upstream.connect("web", soon()))).toEqual({
      code: "UPSTREAM_UNREACHABLE",
      message: `server "web" has a certificate at ${shown} that is not accepted: self signed certificate`,
      hint: "A certificate of your own goes into the file that NODE_EXTRA_CA_CERTS names.",
    });
    expect(await faultOf(rig.upstream.connect("plain", soon()))).toMatchObject({ code: "UPSTREAM_FAILED" });
    await server.stop(true);
    rmSync(folder, { recursive: true });
  },
);

test("an event without end on the one stream of the older transport ends the connection, and the next use has a new one", async () => {
  let streams = 0;
  let send: (text: string) => void = () => undefined;
  await using server = serveHttp((request, rpc) => {
    if (request.method === "GET") {
      streams += 1;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          send = (chunk) => controller.enqueue(new TextEncoder().encode(chunk));
          send("event: endpoint\ndata: /messages\n\n");
        },
      });
      return new Response(body, { headers: EVENTS });
    }
    const { id, method } = rpc ?? {};
    const result =
      method === "initialize"
        ? {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "raw", version: "1" },
          }
        : { tools: [{ name: "t", inputSchema: { type: "object" } }], content: [] };
    const isHostile = method === "tools/call" && streams === 1;
    if (isHostile) for (let piece = 0; piece < 40; piece++) send(`data: ${"x".repeat(MIB)}\n`);
    else if (id !== undefined) send(`data: ${answer(id, result)}\n\n`);
    return new Response(null, { status: 202 });
  });
  await using rig = createRig([remote("web", server.url, { protocol: "sse" })]);

  const fault = await faultOf(call(rig));

  expect(fault.code).toBe("LIMIT_EXCEEDED");
  expect(fault.message).toContain(
    `server "web" sent more than ${32 * MIB} bytes in one event and was disconnected`,
  );
  expect(await call(rig)).toMatchObject({ content: [] });
});

test.each<[string, () => ServerDefinition]>([
  ["by URL", () => remote("web", "http://127.0.0.1:1/")],
  ["of the newest revision", () => scripted("web", { refuses: ["initialize", "server/discover"] })],
])("a server %s that cannot be connected leaves nothing to end", async (_case, define) => {
  const started: Killable[] = [];
  const log = createLog("ERROR", () => undefined);
  const options = {
    env: ENV,
    childEnv: {},
    log,
    remembered: new Remembered({}),
    connectMs: 5000,
    stopGraceMs: 100,
    prepare: () => undefined,
    onSpawn: () => undefined,
    onStart: (one: Killable) => started.push(one),
  };

  const fault = await faultOf(connectServer(define(), options, soon()));

  expect(fault.code).toBe("UPSTREAM_UNREACHABLE");
  expect(started.length).toBeGreaterThan(0);
  await Promise.all(started.map(({ ended }) => ended));
});
