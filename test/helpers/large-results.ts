/** A server over HTTP, of the era of sessions but without one, whose tool `big` gives a text of so many bytes: below `/http` at once, below `/stream` as events. */
export function createHttpServer(bytes: number): AsyncDisposable & { readonly url: string } {
  const text = "b".repeat(bytes);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method, params } = (await request.json()) as Record<string, { protocolVersion?: string }>;
      if (id === undefined) return new Response(null, { status: 202 });
      const result = resultOf(String(method), params?.protocolVersion, text);
      const error = { code: -32601, message: "Method not found" };
      const body = JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
      if (!request.url.endsWith("/stream"))
        return new Response(body, { headers: { "content-type": "application/json" } });
      const events = `event: message\ndata: ${body}\n\n`;
      return new Response(events, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}

function resultOf(method: string, protocolVersion: string | undefined, text: string): object | undefined {
  if (method === "initialize")
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "large", version: "1" } };
  if (method === "tools/list") return { tools: [{ name: "big", inputSchema: { type: "object" } }] };
  return method === "tools/call" ? { content: [{ type: "text", text }] } : undefined;
}
