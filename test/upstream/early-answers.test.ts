/** A server that answers requests which it has not been sent yet: it can guess their ids. */
import { expect, test } from "bun:test";
import { BridgeError } from "../../src/core/errors.ts";
import { createServerFetch, parseEndpoint } from "../../src/upstream/remote/server-fetch.ts";
import { RemoteTransport } from "../../src/upstream/remote/transport.ts";
import { serveTool } from "../helpers/http-servers.ts";
import { until } from "../helpers/until.ts";

/** Requests that are with a server at once whose answers are large. */
const AT_ONCE = 32;
/** Bun (1.4.5) has so many for all of fetch. */
const CONNECTIONS = 256;
const LARGE = "x".repeat(300 * 1024);

const answer = (id: unknown, result: object) => JSON.stringify({ jsonrpc: "2.0", id, result });

function connect(url: string, answered: unknown[]): RemoteTransport {
  const endpoint = parseEndpoint(url, {});
  const transport = new RemoteTransport({
    protocol: "http",
    endpoint,
    fetch: createServerFetch(endpoint),
    authProvider: undefined,
    renewMs: 1000,
    describe: (error) => new BridgeError("UPSTREAM_FAILED", String(error)),
    onRenewed: () => undefined,
    onBadText: () => undefined,
    onBadTool: () => undefined,
    note: async () => undefined,
    onAnswer: () => undefined,
  });
  transport.onmessage = (message) => void ("id" in message && answered.push(message.id));
  transport.finishHandshake();
  return transport;
}

test("EXH-14: a request that is answered while it waits for its turn is not sent, and takes nobody's place", async () => {
  const stream = new TransformStream<Uint8Array, Uint8Array>();
  const writer = stream.writable.getWriter();
  const asked: unknown[] = [];
  const isHeld = (id: unknown) => Number(id) >= 1 && Number(id) < AT_ONCE;
  const release = Promise.withResolvers<void>();
  await using server = serveTool(async (id) => {
    asked.push(id);
    if (id === 0) return new Response(stream.readable, { headers: { "content-type": "text/event-stream" } });
    if (isHeld(id)) await release.promise;
    const result = id === "large" ? { text: LARGE } : {};
    return new Response(answer(id, result), { headers: { "content-type": "application/json" } });
  });
  const answered: unknown[] = [];
  const transport = connect(server.url, answered);
  await transport.start();
  const send = (id: string | number) =>
    transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t", arguments: {} } });
  await send("large"); // from now on nobody goes on only because the server is slow
  await until("the large answer", () => answered.length === 1);

  const sent = Array.from({ length: 3 * AT_ONCE }, (_, id) => send(id));
  await until("as many as may be there", () => asked.length === 1 + AT_ONCE);
  const events = Array.from({ length: 2 * AT_ONCE }, (_, n) => `data: ${answer(AT_ONCE + n, {})}\n\n`);
  await writer.write(new TextEncoder().encode(events.join("")));
  await until("the answers to those that wait", () => answered.length === 1 + 2 * AT_ONCE);
  release.resolve();
  await writer.write(new TextEncoder().encode(`data: ${answer(0, {})}\n\n`));
  await writer.close();
  await Promise.all(sent);

  await send("next");
  await until("the next answer", () => answered.includes("next"), 5000);
  expect(asked).toHaveLength(1 + AT_ONCE + 1);
  expect(answered).toHaveLength(1 + 3 * AT_ONCE + 1);
  transport.kill();
  await transport.ended;
});

test("UPS-6: the connection of a request that was answered is closed where its server does not end it", async () => {
  let open = 0;
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  const put = (id: unknown) => writer?.enqueue(new TextEncoder().encode(`data: ${answer(id, {})}\n\n`));
  await using server = serveTool(async (id, { signal }) => {
    if (id === "ended")
      return new Response(answer(id, {}), { headers: { "content-type": "application/json" } });
    open += 1;
    signal.addEventListener("abort", () => {
      open -= 1;
    });
    if (id === "silent") {
      put(id); // in the stream of another
      await new Promise(() => undefined);
    }
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        writer = controller;
        put(id);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const answered: unknown[] = [];
  const transport = connect(server.url, answered);
  await transport.start();
  const send = (id: string) =>
    transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t", arguments: {} } });
  await send("streamed");
  await until("the first answer", () => answered.length === 1);
  await send("silent");
  expect(answered).toEqual(["streamed", "silent"]);
  await until("both to be closed", () => open === 0);
  await send("ended");
  expect(answered).toEqual(["streamed", "silent", "ended"]);
  transport.kill();
  await transport.ended;
});

test("UPS-6: calls that are given up make room, however many of them their server leaves unanswered", async () => {
  let asked = 0;
  await using server = serveTool(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  await using other = serveTool((id) => Response.json({ jsonrpc: "2.0", id, result: {} }));
  const transport = connect(server.url, []);
  await transport.start();
  const calls = Array.from({ length: CONNECTIONS }, (_, id) =>
    transport
      .send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t", arguments: {} } })
      .catch(() => undefined),
  );
  await until("as many calls as there are connections", () => asked === CONNECTIONS);
  const answer = fetch(other.url, { method: "POST", body: "{}" });
  for (let requestId = 0; requestId < CONNECTIONS; requestId++)
    calls.push(
      transport
        .send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } })
        .catch(() => undefined),
    );
  const first = await Promise.race([answer, Bun.sleep(15_000)]); // half of what a notification has
  expect(first?.status).toBe(202);
  transport.kill();
  await Promise.all([...calls, transport.ended]);
});
