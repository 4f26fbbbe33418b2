import { describe, expect, test } from "bun:test";
import {
  initialized,
  serveBothEras,
  serveHttp,
  serveSessions,
  serveSse,
  serveTool,
  unknownSession,
} from "../helpers/http-servers.ts";
import { createRig, faultOf, type Rig, remote, soon, until } from "./harness.ts";

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

  test("is not asked for the newest revision again within a day", async () => {
    await using server = serveSessions();
    await using rig = createRig([remote("web", server.url)]);
    await rig.upstream.connect("web", soon());
    const servers = rig.discovery.servers;
    rig.discovery = { ...rig.discovery, servers: [] };
    await rig.upstream.refresh();
    rig.discovery = { ...rig.discovery, servers };
    await rig.upstream.refresh();

    await rig.upstream.connect("web", soon());

    expect(server.methods().filter((method) => method === "server/discover").length).toBe(1);
    expect(server.methods().filter((method) => method === "initialize").length).toBe(2);
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
