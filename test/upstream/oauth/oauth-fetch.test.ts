import { describe, expect, test } from "bun:test";
import { Room } from "../../../src/core/room.ts";
import { createOAuthFetch, isAllowed, StalledAnswer } from "../../../src/upstream/oauth/oauth-fetch.ts";
import { parseEndpoint } from "../../../src/upstream/remote/server-fetch.ts";
import { serveHttp } from "../../helpers/http-servers.ts";
import { until } from "../../helpers/until.ts";

const PUBLIC = "https://mcp.example/mcp";
const LOCAL = "http://127.0.0.1:3000/mcp";
const OFFICE = "https://10.1.2.3/mcp";

test.each([
  ["https://login.example/token", PUBLIC, true],
  ["http://login.example/token", PUBLIC, false],
  ["http://login.example/token", LOCAL, false],
  ["http://127.0.0.1:9000/token", PUBLIC, false],
  ["https://127.0.0.1:9000/token", PUBLIC, false],
  ["http://localhost:9000/token", PUBLIC, false],
  ["http://[::1]:9000/token", PUBLIC, false],
  ["http://127.0.0.1:9000/token", LOCAL, true],
  ["http://localhost:9000/token", LOCAL, true],
  ["https://169.254.169.254/latest", PUBLIC, false],
  ["https://192.168.1.1/", PUBLIC, false],
  ["https://172.20.0.1/", PUBLIC, false],
  ["https://172.32.0.1/", PUBLIC, true],
  ["https://[fe80::1]/", PUBLIC, false],
  ["https://[fd00::1]/", PUBLIC, false],
  ["https://[::ffff:10.0.0.1]/", PUBLIC, false],
  ["https://2130706433/", PUBLIC, false],
  ["http://localhost./", PUBLIC, false],
  ["https://localhost./", PUBLIC, false],
  ["https://a.localhost./", PUBLIC, false],
  ["https://100.100.100.200/", PUBLIC, false],
  ["https://100.128.0.1/", PUBLIC, true],
  ["https://[64:ff9b::7f00:1]/", PUBLIC, false],
  ["https://10.9.9.9/token", OFFICE, true],
  ["file:///etc/passwd", LOCAL, false],
  ["javascript:alert(1)", LOCAL, false],
  ["https://user:pw@login.example/", PUBLIC, false],
])("%s for a server at %s: %p", (url, server, allowed) => {
  expect(isAllowed(new URL(url), new URL(server))).toBe(allowed);
});

describe("a request of a sign-in", () => {
  const fetchFor = (url: string) => createOAuthFetch(parseEndpoint(url, { "X-Key": "k-secret" }));

  test("carries the headers of the definition to the server alone", async () => {
    await using server = serveHttp(() => Response.json({}));
    await using other = serveHttp(() => Response.json({}));
    const send = fetchFor(server.url);

    await send(server.url);
    await send(other.url);

    expect(server.seen[0]?.headers.get("x-key")).toBe("k-secret");
    expect(other.seen[0]?.headers.get("x-key")).toBe(null);
  });

  test.each([
    [
      '{"error":"invalid_grant","error_description":"\\u001b[31mno\\u202e"}',
      '{"error":"invalid_grant","error_description":"[31mno"}',
    ],
    ['{"error":"invalid_grant","x":"secret"}', '{"error":"invalid_grant"}'],
    [
      `{"error":"invalid_grant","error_description":"${"x".repeat(900_000)}"}`,
      `{"error":"invalid_grant","error_description":"${"x".repeat(300)}"}`,
    ],
    ['{"error":"a b"}', '{"error":"server_error","error_description":"HTTP 400"}'],
    ["null", '{"error":"server_error","error_description":"HTTP 400"}'],
  ])("keeps an error short and plain", async (body, kept) => {
    const headers = { "content-type": "application/json" };
    await using server = serveHttp(() => new Response(body, { status: 400, headers }));

    expect(await (await fetchFor(server.url)(server.url)).text()).toBe(kept);
  });

  test("does not take a body that is too large, nor quote one that may repeat a secret", async () => {
    await using server = serveHttp((request) =>
      request.url.endsWith("large")
        ? new Response("x".repeat(2 ** 21))
        : new Response("token abc", { status: 500 }),
    );
    const send = fetchFor(server.url);

    expect(await send(`${server.url}/large`).catch((error: Error) => error.name)).toBe("ForbiddenAddress");
    expect(await (await send(server.url)).text()).toBe(
      '{"error":"server_error","error_description":"HTTP 500"}',
    );
  });

  /** So many bytes of a body, and no more; its length is not said. */
  const stopping = (bytes: number) =>
    new Response(
      new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(bytes)) }),
    );

  test("says within which time no answer came", async () => {
    await using server = serveHttp(() => new Promise<Response>(() => undefined));
    const send = createOAuthFetch(parseEndpoint(server.url, {}), undefined, { timeoutMs: 200 });

    const fault = await Promise.resolve(send(server.url)).catch((error: Error) => error);

    expect(fault).toBeInstanceOf(StalledAnswer);
    expect(String(fault)).toContain(`${new URL(server.url).origin} did not answer within 0.2 s`);
  });

  test.each([10, 200_000])("says after which time an answer stopped, of %i bytes", async (bytes) => {
    await using server = serveHttp(() => stopping(bytes));
    const says: string[] = [];
    // On a machine that is busy it may not even have begun.
    for (const timeoutMs of [200, 2000, 20_000]) {
      const send = createOAuthFetch(parseEndpoint(server.url, {}), undefined, { timeoutMs });
      const fault = await Promise.resolve(send(server.url)).catch((error: Error) => error);
      expect(fault).toBeInstanceOf(StalledAnswer);
      says.push(String(fault));
      if (says.at(-1)?.includes("stopped")) break;
    }
    expect(says.at(-1)).toMatch(
      / stopped in the middle of its answer, which was not whole after (0\.2|2|20) s$/,
    );
  });

  test("says so, and not that it is too large, where an answer stops that others wait for", async () => {
    const room = new Room({ totalBytes: 100_000, lookMs: 20 });
    await using server = serveHttp(() => stopping(200_000));
    const send = createOAuthFetch(parseEndpoint(server.url, {}), undefined, { room });

    const asked = Promise.resolve(send(server.url)).catch((error: Error) => error);
    await until("it has begun", () => room.usedBytes > 100_000);
    const other = room.open("other");
    const wait = other.grow(50_000);

    const fault = await asked;
    await wait;
    expect(fault).toBeInstanceOf(StalledAnswer);
    expect(String(fault)).toMatch(/stopped in the middle of its answer, which was not whole after [\d.]+ s$/);
  });

  test("passes on why it was told to stop", async () => {
    await using server = serveHttp(() => stopping(10));
    const send = createOAuthFetch(parseEndpoint(server.url, {}), AbortSignal.abort(new Error("no longer")));

    await expect(Promise.resolve(send(server.url))).rejects.toThrow("no longer");
  });
});
