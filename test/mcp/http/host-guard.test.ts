import { describe, expect, test } from "bun:test";
import { createHostGuard, LOOPBACK_HOSTS } from "../../../src/mcp/http/host-guard.ts";

const LOCAL = { hosts: LOOPBACK_HOSTS, origins: [] };

function statusOf(
  headers: Record<string, string>,
  rules: { hosts: readonly string[]; origins: readonly string[] },
) {
  return createHostGuard(rules)(new Headers(headers))?.status ?? "served";
}

describe("the host", () => {
  test.each([
    ["localhost:8848", "served"],
    ["localhost", "served"],
    ["LOCALHOST:8848", "served"],
    ["127.0.0.1:8848", "served"],
    ["[::1]:8848", "served"],
    ["[0:0:0:0:0:0:0:1]:8848", "served"],
    ["evil.com", 403],
    ["localhost.evil.com", 403],
    ["127.0.0.1.evil.com:8848", 403],
    ["evil.com:8848@localhost", 403],
    ["localhost@evil.com", 403],
    ["localhost, evil.com", 403],
    ["localhost, localhost", 403],
    ["localhost:99999", 403],
    ["localhost:", 403],
    ["localhost.", 403],
    ["localhost/x", 403],
    ["127.1", 403],
    ["0x7f000001", 403],
    ["0.0.0.0", 403],
    ["[::ffff:127.0.0.1]", 403],
    ["[::2]", 403],
    ["::1", 403],
    ["null", 403],
    ["", 403],
  ])("%p is %p", (host, expected) => {
    expect(statusOf({ host }, LOCAL)).toBe(expected);
  });

  test("must be there", () => {
    expect(statusOf({}, LOCAL)).toBe(403);
  });

  test("CLI-10: is nobody's where nothing is allowed", () => {
    expect(statusOf({ host: "localhost" }, { hosts: [], origins: [] })).toBe(403);
  });

  test.each([
    ["tools.example.com", "served"],
    ["Tools.Example.com:443", "served"],
    ["admin.example.com:9000", "served"],
    ["admin.example.com:9001", 403],
    ["admin.example.com", 403],
    ["example.com", 403],
    ["x.tools.example.com", 403],
  ])("%p is %p where it may be tools.example.com or admin.example.com:9000", (host, expected) => {
    const hosts = ["tools.example.com", "admin.example.com:9000"];
    expect(statusOf({ host }, { hosts, origins: [] })).toBe(expected);
  });

  test("that is refused is named with the flag that allows it", async () => {
    const answer = createHostGuard(LOCAL)(new Headers({ host: "evil.com:1" }));
    expect(await answer?.json()).toEqual({
      jsonrpc: "2.0",
      id: null,
      error: {
        code: -32000,
        message: `the Host "evil.com:1" is none of this server's; to allow it, start with --allow-host evil.com`,
      },
    });
  });
});

describe("the origin", () => {
  test.each([
    ["http://localhost:8848", "served"],
    ["https://localhost:8848", "served"],
    ["HTTP://LOCALHOST:8848", "served"],
    ["http://localhost:8849", 403],
    ["http://localhost", 403],
    ["http://127.0.0.1:8848", 403],
    ["http://localhost.evil.com:8848", 403],
    ["http://127.0.0.1.evil.com", 403],
    ["http://localhost:99999", 403],
    ["http://localhost:8848/path", 403],
    ["http://localhost:8848@evil.com", 403],
    ["http://user@localhost:8848", 403],
    ["http://evil.com", 403],
    ["file://", 403],
    ["null", 403],
    ["", 403],
    ["localhost:8848", 403],
    ["http://localhost:8848, http://evil.com", 403],
    [`http://localhost:8848/${"x".repeat(600)}`, 403],
  ])("CLI-10: %p of a page is %p", (origin, expected) => {
    expect(statusOf({ host: "localhost:8848", origin }, LOCAL)).toBe(expected);
  });

  test("may leave out the port that is usual", () => {
    expect(statusOf({ host: "localhost:80", origin: "http://localhost" }, LOCAL)).toBe("served");
    expect(statusOf({ host: "localhost", origin: "https://localhost" }, LOCAL)).toBe("served");
  });

  test.each([
    ["https://app.example.com", "served"],
    ["moz-extension://1b2c", "served"],
    ["https://app.example.com:8443", 403],
    ["http://app.example.com", 403],
    ["https://app.example.com.evil.com", 403],
    ["moz-extension://other", 403],
  ])("%p is %p where others are allowed", (origin, expected) => {
    const origins = ["https://app.example.com", "moz-extension://1b2c"];
    expect(statusOf({ host: "localhost:8848", origin }, { hosts: LOOPBACK_HOSTS, origins })).toBe(expected);
  });
});
