import { describe, expect, test } from "bun:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { McpClientPeer } from "../../../src/mcp/client-peer.ts";
import type { Connect } from "../../../src/mcp/http/connection.ts";
import type { ServerNames } from "../../../src/mcp/listed-tool.ts";
import { ALICE, BOB, type HttpWorld, startHttpWorld } from "../../helpers/http-world.ts";
import { NOTHING } from "../../helpers/run-results.ts";
import { until } from "../../helpers/until.ts";

const VERSION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
};

/** One request of the newest revision, with the headers that it wants. */
function send(
  world: HttpWorld,
  method: string,
  params: Record<string, unknown>,
  more: { token?: string; headers?: Record<string, string>; signal?: AbortSignal; id?: number } = {},
): Promise<Response> {
  const name = typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {};
  return fetch(world.url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${more.token ?? ALICE}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...name,
      ...more.headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: more.id ?? 1, method, params: { _meta: META, ...params } }),
    ...(more.signal === undefined ? {} : { signal: more.signal }),
  });
}

const run = (code: string, more: object = {}) => ({ name: "run_python", arguments: { code }, ...more });
const result = async (response: Response) =>
  ((await response.json()) as { result: Record<string, unknown> }).result;
const textOf = (answer: Record<string, unknown>) => (answer["content"] as { text: string }[])[0]?.text;

/** Runs that ask the client, as an upstream server would, and answer with what it said. */
function askingConnect(peers: McpClientPeer[] = []): Connect {
  return async (connection) => {
    peers.push(connection.peer);
    return {
      runner: {
        async run({ peer, code }, signal) {
          const answers: string[] = [];
          for (const message of code.split(",")) {
            const requestedSchema = { type: "object", properties: {} };
            const params = { mode: "form", message, requestedSchema };
            const answer = await peer.request({ method: "elicitation/create", params }, signal);
            answers.push(`${message}: ${String(answer["action"])}`);
          }
          return { ...NOTHING, result: answers.join("; ") };
        },
      },
      close: async () => undefined,
    };
  };
}

describe("a request of the newest revision", () => {
  test("is a connection of its own, which ends with its run", async () => {
    await using world = startHttpWorld();
    const answer = await result(await send(world, "tools/call", run("value 42")));
    expect(textOf(answer)).toBe("42");
    await until("the end", () => world.connections.length === 2);
    expect(world.connections).toEqual(["+alice request", "-alice"]);
    await result(await send(world, "tools/list", {}));
    await result(await send(world, "server/discover", {}));
    expect(world.connections).toHaveLength(2);
  });

  test.each([
    ["a header of another method", { "mcp-method": "tools/list" }, 400, -32020],
    ["a header of another tool", { "mcp-name": "other" }, 400, -32020],
    ["a header of another revision", { "mcp-protocol-version": "2025-11-25" }, 400, -32020],
  ] as const)("with %s is refused", async (_, headers, status, code) => {
    await using world = startHttpWorld();
    const answer = await send(world, "tools/call", run("value 1"), { headers });
    expect([answer.status, ((await answer.json()) as { error: { code: number } }).error.code]).toEqual([
      status,
      code,
    ]);
    expect(world.connections).toEqual([]);
  });

  test.each(["GET", "DELETE", "PUT", "HEAD"])("cannot be a %s", async (method) => {
    await using world = startHttpWorld();
    const headers = { authorization: `Bearer ${ALICE}`, "mcp-protocol-version": VERSION };
    const answer = await fetch(world.url, { method, headers });
    expect([answer.status, answer.headers.get("allow")?.includes("POST")]).toEqual([405, true]);
  });

  test("CLI-16: of an unknown method or revision says so", async () => {
    await using world = startHttpWorld();
    expect((await send(world, "no/such", {})).status).toBe(404);
    const meta = { ...META, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    const answer = await send(
      world,
      "tools/list",
      { _meta: meta },
      { headers: { "mcp-protocol-version": "2099-01-01" } },
    );
    expect(answer.status).toBe(400);
  });

  test.each([
    ["before an answer began", {}, false],
    ["while it streams", { _meta: { ...META, progressToken: 1 } }, true],
  ])("CLI-17: that is dropped %s is cancelled", async (_, more, streams) => {
    const cancelled: string[] = [];
    const connect: Connect = async () => ({
      runner: {
        async run({ onOutput }, signal) {
          onOutput?.("begun\n", 0);
          cancelled.push("running");
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          cancelled.push("cancelled");
          return { ...NOTHING, status: "cancelled" };
        },
      },
      close: async () => void cancelled.push("closed"),
    });
    await using world = startHttpWorld({ connect });
    const drop = new AbortController();
    let hasBegun = false;
    const answer = send(world, "tools/call", run("x", more), { signal: drop.signal }).then((response) => {
      hasBegun = true;
      return response.text();
    });
    answer.catch(() => undefined);
    await until("a run", () => cancelled.includes("running"));
    if (streams) await until("the stream", () => hasBegun);
    drop.abort();
    await until("the end", () => cancelled.includes("closed"));
    expect(cancelled).toEqual(["running", "cancelled", "closed"]);
  });
});

describe("a run that asks", () => {
  test("goes on when the same caller answers, on another connection", async () => {
    const peers: McpClientPeer[] = [];
    await using world = startHttpWorld({ connect: askingConnect(peers) });
    let answer = await result(await send(world, "tools/call", run("first,second")));
    for (const message of ["first", "second"]) {
      expect(answer["resultType"]).toBe("input_required");
      const [[key = "", question] = []] = Object.entries(answer["inputRequests"] as object);
      expect(question.params.message).toBe(message);
      const more = {
        requestState: answer["requestState"],
        inputResponses: { [key]: { action: "accept", content: {} } },
      };
      answer = await result(await send(world, "tools/call", run("first,second", more)));
    }
    expect(textOf(answer)).toBe("first: accept; second: accept");
    expect(peers).toHaveLength(1);
  });

  test("NBR-3: does not go on for anybody else, nor twice", async () => {
    await using world = startHttpWorld({ connect: askingConnect() });
    const asked = await result(await send(world, "tools/call", run("first")));
    const state = String(asked["requestState"]);
    expect(Buffer.from(state, "base64url").length).toBeGreaterThanOrEqual(16);
    const [key = ""] = Object.keys(asked["inputRequests"] as object);
    const more = { requestState: state, inputResponses: { [key]: { action: "accept", content: {} } } };
    const foreign = await result(await send(world, "tools/call", run("first", more), { token: BOB }));
    const unknown = { ...more, requestState: "x".repeat(state.length) };
    const made = await result(await send(world, "tools/call", run("first", unknown)));
    expect([foreign["isError"], textOf(foreign)]).toEqual([true, textOf(made) ?? ""]);
    expect(textOf(await result(await send(world, "tools/call", run("first", more))))).toBe("first: accept");
    expect((await result(await send(world, "tools/call", run("first", more))))["isError"]).toBe(true);
  });

  test("is answered by the SDK's client without ado", async () => {
    await using world = startHttpWorld({ connect: askingConnect() });
    const client = new Client(
      { name: "t", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: VERSION } } },
    );
    client.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));
    const requestInit = { headers: { authorization: `Bearer ${ALICE}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(world.url), { requestInit }));
    const answer = await client.callTool({ name: "run_python", arguments: { code: "one,two" } });
    expect(textOf(answer)).toBe("one: decline; two: decline");
    await client.close();
  });
});

describe("clients of both lines of the SDK", () => {
  test("are served side by side, whatever ids they use, and hear of changes", async () => {
    let aliases: readonly string[] = ["notes"];
    const listeners = new Set<(aliases: readonly string[]) => void>();
    const servers: ServerNames = {
      read: async () => aliases,
      onRead(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    await using world = startHttpWorld({ servers });
    const heard: string[] = [];
    const requestInit = (token: string) => ({
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    const older = new OlderClient({ name: "v1", version: "1" });
    older.fallbackNotificationHandler = async ({ method }) => void heard.push(`v1 ${method}`);
    await older.connect(new OlderTransport(new URL(world.url), requestInit(ALICE)) as never);
    const newer = new Client(
      { name: "v2", version: "1" },
      {
        versionNegotiation: { mode: "auto" },
        listChanged: { tools: { autoRefresh: false, onChanged: () => void heard.push("v2") } },
      },
    );
    await newer.connect(new StreamableHTTPClientTransport(new URL(world.url), requestInit(BOB)));
    expect(newer.getNegotiatedProtocolVersion()).toBe(VERSION);
    const calls = Array.from({ length: 100 }, async (_, n) => {
      const args = { name: "run_python", arguments: { code: `value ${n}` } };
      expect(textOf(await older.callTool(args))).toBe(String(n));
      expect(textOf(await newer.callTool(args))).toBe(String(n));
    });
    await Promise.all(calls);
    await older.listTools();
    await newer.listTools();
    aliases = ["notes", "git"];
    for (const listener of listeners) listener(aliases);
    await until("word of it", () => heard.length === 2);
    expect(heard.sort()).toEqual(["v1 notifications/tools/list_changed", "v2"]);
    await Promise.all([older.close(), newer.close()]);
  });
});
