import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Remembered } from "../../src/upstream/remembered.ts";
import {
  type HttpServer,
  initialized,
  serveBothEras,
  serveHttp,
  serveSessions,
  serveSse,
  serveTool,
  unknownSession,
} from "../helpers/http-servers.ts";
import { createRig, define, faultOf, type Rig, remote, SERVERS, soon, until } from "./harness.ts";

const call = (rig: Rig, tool: string, args: Record<string, unknown> = {}, signal = soon()) =>
  rig.upstream.callTool({ server: "web", tool, arguments: args }, signal);
const add = (rig: Rig) => call(rig, "add", { a: 1, b: 2 });
const text = (value: string) => ({ content: [{ type: "text", text: value }] });

describe("a server that is reached by URL", () => {
  test("of the older revisions is called, with its headers, in one session", async () => {
    await using server = serveSessions();
    await using rig = createRig([
      remote("web", server.url, { headers: { "X-Key": "k-secret", Accept: "no" } }),
    ]);

    expect(await add(rig)).toEqual(text("3"));
    expect(await add(rig)).toEqual(text("3"));

    expect(server.methods().filter((method) => method === "initialize").length).toBe(1);
    expect(server.seen.every(({ headers }) => headers.get("x-key") === "k-secret")).toBe(true);
    expect(server.seen.every(({ headers }) => headers.get("x-sandpy-request") === null)).toBe(true);
    await rig.upstream.close();
    expect(server.seen.at(-1)?.method).toBe("DELETE");
  });

  test.each([
    [503, "Try again later."],
    [501, 'Correct its definition "web" in'],
  ])("says by its status %d whether to try again", async (status, hint) => {
    await using server = serveTool(() => new Response("no", { status }));
    await using rig = createRig([remote("web", server.url)]);
    expect(await faultOf(call(rig, "t"))).toMatchObject({ hint: expect.stringContaining(hint) });
  });

  test("of both eras is spoken to in the newest revision", async () => {
    await using server = serveBothEras();
    await using rig = createRig([remote("web", server.url)]);

    expect(await call(rig, "era")).toMatchObject(text("modern"));
    expect(server.methods()).not.toContain("initialize");
    expect(server.seen.find(({ rpc }) => rpc === "tools/call")?.headers.get("mcp-name")).toBe("era");
  });

  test("of the newest revision alone is called", async () => {
    await using server = serveBothEras("reject");
    await using rig = createRig([remote("web", server.url)]);

    expect(await call(rig, "era")).toMatchObject(text("modern"));
  });

  test("of the older transport is found, and found at once the next time", async () => {
    await using server = await serveSse();
    await using rig = createRig([remote("web", server.url)]);

    expect(await add(rig)).toEqual(text("3"));
    const posts = () => server.seen.filter(({ method, path }) => method === "POST" && path === "/mcp").length;
    const before = posts();
    server.cut();
    await until(() => rig.logged.some((line) => line.includes("closed")));
    expect(await add(rig)).toEqual(text("3"));

    expect(before).toBeGreaterThan(0);
    expect(posts()).toBe(before);
  });

  test("keeps every digit, in a body and in a stream", async () => {
    const result = `{"content":[],"structuredContent":{"id":12345678901234567890,"x":1e400}}`;
    for (const type of ["application/json", "text/event-stream"]) {
      await using server = serveTool((id) => {
        const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
        const body = type === "application/json" ? message : `event: message\r\ndata: ${message}\r\n\r\n`;
        return new Response(body, { headers: { "content-type": type } });
      });
      await using rig = createRig([remote("web", server.url)]);

      expect(JSON.stringify(await call(rig, "t"))).toBe(result);
    }
  });
});

describe("what a connection found out", () => {
  const DAY_MS = 24 * 3600 * 1000;

  function createFolder(): Disposable & { readonly path: string } {
    const path = mkdtempSync(join(tmpdir(), "sandpy-eras-"));
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
  }
  const count = (server: HttpServer, wanted: string) =>
    server.methods().filter((method) => method === wanted).length;

  test("is known to the next bridge: the era", async () => {
    using folder = createFolder();
    await using server = serveSessions();
    for (const _bridge of [1, 2]) {
      await using rig = createRig([remote("web", server.url)], { cacheDir: folder.path });
      await add(rig);
    }

    expect([count(server, "server/discover"), count(server, "initialize")]).toEqual([1, 2]);
    expect(statSync(join(folder.path, "eras.json")).mode & 0o777).toBe(0o600);
  });

  test("is known to the next bridge: the transport", async () => {
    using folder = createFolder();
    await using server = await serveSse();
    const posts = () => server.seen.filter(({ method, path }) => method === "POST" && path === "/mcp").length;
    const seen: number[] = [];
    for (const _bridge of [1, 2]) {
      await using rig = createRig([remote("web", server.url)], { cacheDir: folder.path });
      expect(await add(rig)).toEqual(text("3"));
      seen.push(posts());
    }

    expect(seen[0]).toBeGreaterThan(0);
    expect(seen[1]).toBe(seen[0] ?? 0);
  });

  test.each([
    ["still holds", () => serveSessions(), ["initialize"]],
    ["does not hold any more", () => serveBothEras("reject"), ["initialize", "server/discover"]],
  ])("is tried first and found out again where it %s", async (_case, serve, asked) => {
    using folder = createFolder();
    await using server = serve();
    const servers = { [`web ${server.url}`]: { era: "legacy", at: Date.now() } };
    writeFileSync(join(folder.path, "eras.json"), JSON.stringify({ version: 1, servers }));
    await using rig = createRig([remote("web", server.url)], { cacheDir: folder.path });

    await rig.upstream.connect("web", soon());

    const openings = ["initialize", "server/discover"];
    expect(server.methods().filter((method) => openings.includes(method))).toEqual(asked);
  });

  test.each([
    ["a day later", JSON.stringify({ version: 1, servers: { a: { era: "legacy", at: 0 } } })],
    ["of a file that is cut", '{"version":1,"serv'],
    ["of another version", JSON.stringify({ version: 2, servers: { a: { era: "legacy", at: DAY_MS } } })],
    ["of the future", JSON.stringify({ version: 1, servers: { a: { era: "legacy", at: 3 * DAY_MS } } })],
    ["of another shape", JSON.stringify({ version: 1, servers: { a: [1], b: { era: "x" } } })],
  ])("is nothing %s", async (_case, content) => {
    using folder = createFolder();
    writeFileSync(join(folder.path, "eras.json"), content);
    const remembered = new Remembered({ cacheDir: folder.path, now: () => 2 * DAY_MS });

    expect(await remembered.find("a")).toEqual({ era: undefined, protocol: undefined });
    await remembered.keep("a", { era: "modern", protocol: undefined });
    expect((await remembered.find("a")).era).toBe("modern");
  });

  test("starts a server of the newest revision once, the next time", async () => {
    using folder = createFolder();
    const modern = define("new", { args: [join(SERVERS, "modern-server.ts")] });
    const refusals: number[] = [];
    for (const _bridge of [1, 2]) {
      await using rig = createRig([modern], { cacheDir: folder.path });
      await rig.upstream.connect("new", soon());
      refusals.push(rig.logged.filter((line) => line.includes("refused initialize")).length);
    }

    expect(refusals).toEqual([1, 0]);
  });
});

describe("a session that the server has forgotten", () => {
  test.each([
    ["404", () => unknownSession(404)],
    ["400", () => unknownSession(400)],
    ["404 without a body", () => new Response(null, { status: 404 })],
  ])("is replaced once, and no call runs twice: %s", async (_case, forgotten) => {
    await using server = serveSessions(forgotten);
    await using rig = createRig([remote("web", server.url)]);
    await add(rig);
    server.forget();

    const results = await Promise.all([add(rig), add(rig), add(rig)]);

    expect(results).toEqual([text("3"), text("3"), text("3")]);
    expect(server.adder.runs).toBe(4);
    expect(server.methods().filter((method) => method === "initialize").length).toBe(2);
  });

  test("is replaced after the server was away for two seconds", async () => {
    await using server = serveSessions();
    await using rig = createRig([remote("web", server.url)]);
    await add(rig);
    await server.stop();
    server.forget();
    const second = add(rig);
    setTimeout(() => server.start(), 2000);

    expect(await second).toEqual(text("3"));
    expect(server.adder.runs).toBe(2);
    expect(server.methods().filter((method) => method === "initialize").length).toBe(2);
  });

  test("is no reason to try for ever", async () => {
    let calls = 0;
    await using server = serveHttp((request, rpc) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      if (rpc?.["method"] === "initialize")
        return initialized(rpc["id"], { "mcp-session-id": `s${++calls}` });
      if (rpc?.["id"] === undefined) return new Response(null, { status: 202 });
      return unknownSession();
    });
    await using rig = createRig([remote("web", server.url)]);

    const fault = await faultOf(call(rig, "t"));

    expect(fault).toMatchObject({ code: "UPSTREAM_FAILED" });
    expect(fault.message).toContain("with HTTP 404");
    expect(calls).toBe(2);
  });
});

test.each<[string, () => Response]>([
  ["accepts initialize and says nothing", () => new Response(null, { status: 202 })],
  ["answers somebody else", () => Response.json({ jsonrpc: "2.0", id: "other", result: {} })],
])("a server that %s is given up at once", async (_case, respond) => {
  await using server = serveHttp((_request, rpc) =>
    rpc?.["method"] === "initialize" ? respond() : new Response(null, { status: 404 }),
  );
  await using rig = createRig([remote("web", server.url)]);

  const fault = await faultOf(rig.upstream.connect("web", soon(5000)));

  expect(fault).toMatchObject({
    code: "UPSTREAM_FAILED",
    message: `server "web" failed at ${server.url}: the server ended its answer before the result`,
  });
});
