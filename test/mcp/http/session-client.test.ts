import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { createSessionClient } from "../../../src/mcp/http/session-client.ts";

const SERVER = { name: "sandpy", version: "1" };
const LIST = { server: SERVER, sessions: [] };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that answers every request so. */
function serve(answer: (request: Request) => Response): URL {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  closers.push(() => server.stop(true));
  return new URL(`http://127.0.0.1:${server.port}/mcp`);
}

/** Something that is no HTTP server. */
async function listen(onSocket: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
}

const clientOf = (url: URL) => createSessionClient({ url, token: "secret-0123456789", timeoutMs: 1500 });
const json = (value: unknown, status = 200) => Response.json(value, { status });
/** A failure that is in the shape of what stands before the routes. */
const refusal = (message: string, status: number) =>
  json({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }, status);

test("asks at the root of the server, with the token in the header alone", async () => {
  const asked: string[] = [];
  const url = serve((request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(`${request.method} ${pathname}${search} ${request.headers.get("authorization")}`);
    return json(request.method === "GET" ? LIST : { server: SERVER, id: "a/b", done: true });
  });
  const client = clientOf(url);
  expect(await client.list()).toEqual(LIST as never);
  for (const action of ["end", "interrupt", "reset"] as const) {
    expect(await client.act("a/b", action)).toBe(true);
  }
  expect(asked).toEqual([
    "GET /api/sessions Bearer secret-0123456789",
    "DELETE /api/sessions/a%2Fb Bearer secret-0123456789",
    "POST /api/sessions/a%2Fb/interrupt Bearer secret-0123456789",
    "POST /api/sessions/a%2Fb/reset Bearer secret-0123456789",
  ]);
});

describe("an answer that is not good becomes", () => {
  test.each([
    ["a page", () => new Response("<html>"), "SERVER_UNREACHABLE", "status 200"],
    ["JSON of another program", () => json({ sessions: [] }), "SERVER_UNREACHABLE", "status 200"],
    ["nothing there", () => refusal("there is nothing here", 404), "SERVER_UNREACHABLE", "nothing here"],
    ["a redirect", () => Response.redirect("http://127.0.0.1:1/"), "SERVER_UNREACHABLE", "status 302"],
    ["too much", () => new Response("x".repeat(17 * 1024 ** 2)), "SERVER_UNREACHABLE", "more than 16777216"],
    ["no token", () => refusal("a bearer token is needed", 401), "SERVER_REFUSED", "token is needed"],
    ["another Host", () => refusal('the Host "x" is none', 403), "SERVER_REFUSED", 'the Host "x"'],
    ["its end", () => refusal("the issuer cannot be reached", 503), "SERVER_UNREACHABLE", "the issuer"],
    [
      "a fault",
      () => json({ error: { code: "INTERNAL", message: "log" } }, 500),
      "SERVER_UNREACHABLE",
      "log",
    ],
    [
      "no session",
      () => json({ error: { code: "SESSION_UNKNOWN", message: 'there is no session "x"' } }, 404),
      "SESSION_UNKNOWN",
      'there is no session "x"',
    ],
  ] as const)("%s", async (_, answer, code, message) => {
    const error = await clientOf(serve(answer))
      .act("x", "end")
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code,
      hint: expect.any(String),
      message: expect.stringContaining(message),
    });
    expect(String(error)).not.toContain("secret-0123456789");
  });
});

describe("a peer that is no HTTP server is told from one:", () => {
  test.each([
    ["one that says something else", (socket: Socket) => void socket.write("SSH-2.0-x\r\n"), "HPE_"],
    ["one that hangs up", (socket: Socket) => void socket.once("data", () => socket.destroy()), "ECONNRESET"],
    ["one that says nothing", () => undefined, "no answer within 1500 ms"],
    [
      "one that never comes to an end",
      (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
      "no answer within 1500 ms",
    ],
  ])("%s", async (_, onSocket, message) => {
    const url = await listen(onSocket);
    expect(clientOf(url).list()).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: expect.stringContaining(message),
    });
  });

  test("nobody at all", async () => {
    const url = await listen(() => undefined);
    for (const close of closers.splice(0)) await close();
    expect(clientOf(url).list()).rejects.toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
      hint: expect.stringContaining("sandpy serve --http"),
    });
  });
});

test("sends no token to a proxy of the environment for what is on this machine", async () => {
  let proxied = 0;
  const proxy = serve(() => {
    proxied += 1;
    return json(LIST);
  });
  const url = serve(() => json(LIST));
  const program = `
    const { createSessionClient } = await import(${JSON.stringify(require.resolve("../../../src/mcp/http/session-client.ts"))});
    console.log(JSON.stringify(await createSessionClient({ url: new URL(${JSON.stringify(url.href)}), token: "t" }).list()));`;
  const child = Bun.spawn([process.execPath, "-e", program], {
    env: { ...process.env, HTTP_PROXY: proxy.origin, http_proxy: proxy.origin, NO_PROXY: "", no_proxy: "" },
  });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual(LIST);
  expect(proxied).toBe(0);
});
