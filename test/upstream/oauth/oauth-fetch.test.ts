import { describe, expect, test } from "bun:test";
import { createOAuthFetch, isAllowed } from "../../../src/upstream/oauth/oauth-fetch.ts";
import { parseEndpoint } from "../../../src/upstream/remote/server-fetch.ts";
import { serveHttp } from "../../helpers/http-servers.ts";

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
});
