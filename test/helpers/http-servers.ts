import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createMcpHandler, McpServer as NewerServer } from "@modelcontextprotocol/server";
import * as z from "zod";

/** What a server was asked. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  /** The JSON-RPC method of its body. */
  readonly rpc: string | undefined;
}

/** A server of MCP on a port of this machine. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** The JSON-RPC methods that came, in order. */
  methods(): readonly string[];
}

type Handler = (
  request: Request,
  rpc: Readonly<Record<string, unknown>> | undefined,
) => Response | Promise<Response>;

/** Answers by `handle`, and notes what came; `stop` and `start` keep the port. */
export function serveHttp(
  handle: Handler,
): HttpServer & { stop(): Promise<void>; start(): void; port: number } {
  const seen: SeenRequest[] = [];
  const listen = (port: number) =>
    Bun.serve({
      port,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: async (request) => {
        const text = request.method === "POST" ? await request.clone().text() : "";
        const rpc = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : undefined;
        const { pathname, search } = new URL(request.url);
        const method = typeof rpc?.["method"] === "string" ? rpc["method"] : undefined;
        seen.push({ method: request.method, path: pathname + search, headers: request.headers, rpc: method });
        return handle(request, rpc);
      },
    });
  let server: ReturnType<typeof listen> | undefined = listen(0);
  const port = server.port ?? 0;
  const stop = async () => {
    await server?.stop(true);
    server = undefined;
  };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    seen,
    methods: () => seen.flatMap(({ rpc }) => rpc ?? []),
    stop,
    start: () => {
      server = listen(port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Counts how often the tool `add` has run. */
export interface Adder {
  runs: number;
}

function createAdder(adder: Adder): McpServer {
  const server = new McpServer({ name: "adder", version: "1" });
  server.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => {
    adder.runs += 1;
    return { content: [{ type: "text", text: String(a + b) }] };
  });
  return server;
}

/** The older SDK's server, with sessions that it can forget. */
export function serveSessions(forgotten: () => Response = unknownSession) {
  const adder: Adder = { runs: 0 };
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const http = serveHttp(async (request, rpc) => {
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    if (known !== undefined) return known.handleRequest(request);
    if (rpc?.["method"] !== "initialize") return forgotten();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, transport);
      },
    });
    await createAdder(adder).connect(transport);
    return transport.handleRequest(request);
  });
  return Object.assign(http, { adder, forget: () => sessions.clear() });
}

/** What the SDK's servers answer to a session that they do not know. */
export function unknownSession(status = 404): Response {
  const error = {
    code: status === 404 ? -32001 : -32000,
    message: "Bad Request: No valid session ID provided",
  };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status });
}

/** The newer SDK's server: both eras, or the newest revision alone. */
export function serveBothEras(legacy: "stateless" | "reject" = "stateless") {
  const handler = createMcpHandler(
    ({ era }) => {
      const server = new NewerServer({ name: "eras", version: "1" });
      server.registerTool("era", { inputSchema: z.object({}) }, async () => ({
        content: [{ type: "text", text: era }],
      }));
      return server;
    },
    { legacy },
  );
  return serveHttp((request) => handler.fetch(request));
}

/** The older SDK's server of HTTP with SSE: a stream at `/mcp`, messages to another path. */
export async function serveSse(): Promise<HttpServer & { cut(): void }> {
  const adder: Adder = { runs: 0 };
  const seen: SeenRequest[] = [];
  const transports = new Map<string, SSEServerTransport>();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const method = request.method ?? "";
    const headers = new Headers(request.headers as Record<string, string>);
    seen.push({ method, path: url.pathname, headers, rpc: undefined });
    if (url.pathname === "/mcp" && method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      await createAdder(adder).connect(transport);
      return;
    }
    const transport = transports.get(url.searchParams.get("sessionId") ?? "");
    if (url.pathname === "/messages" && transport !== undefined)
      await transport.handlePostMessage(request, response);
    else response.writeHead(405).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    methods: () => [],
    cut: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An answer to `initialize` of a server with tools and without sessions. */
export function initialized(id: unknown, headers: Record<string, string> = {}): Response {
  const result = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "raw", version: "1" },
  };
  return Response.json({ jsonrpc: "2.0", id, result }, { headers });
}

/** Everything that stands before the call of a tool `t`, which `answer` answers. */
export function serveTool(answer: (id: unknown, request: Request) => Response | Promise<Response>) {
  return serveHttp((request, rpc) => {
    if (request.headers.has("last-event-id")) return answer(undefined, request);
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method } = rpc ?? {};
    if (method === "initialize") return initialized(id);
    if (method === "tools/list") {
      const tools = [{ name: "t", inputSchema: { type: "object" } }];
      return Response.json({ jsonrpc: "2.0", id, result: { tools } });
    }
    if (method === "tools/call") return answer(id, request);
    if (id !== undefined) {
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
    }
    return new Response(null, { status: 202 });
  });
}
