import { describe, expect, test } from "bun:test";
import { fingerprintOf, identityOf } from "../../src/discovery/fingerprint.ts";
import type { RemoteServer, StdioServer } from "../../src/discovery/server-definition.ts";

function stdio(words: string, rest: Partial<StdioServer> = {}): StdioServer {
  const [command = "", ...args] = words.split(" ");
  return { kind: "stdio", command, args, env: {}, cwd: undefined, ...rest };
}

function remote(url: string, rest: Partial<RemoteServer> = {}): RemoteServer {
  return { kind: "remote", protocol: "auto", url, headers: {}, oauth: undefined, ...rest };
}

describe("the identity", () => {
  test.each([
    [stdio("npx -y x"), stdio("npx x@latest")],
    [stdio("npx -y @a/b c"), stdio("/opt/asdf/shims/npx --yes @a/b@latest c")],
    [stdio("npx -y x"), stdio("bunx x")],
    [stdio("npx -y x"), stdio("cmd /c npx -y x")],
    [stdio("uvx x"), stdio("/usr/bin/uvx x", { cwd: "/p" })],
    [remote("https://A.example:443/mcp/"), remote("https://a.example/mcp#x", { protocol: "sse" })],
    [remote("https://a.example"), remote("https://a.example/")],
    [remote("https://a.example/mcp"), stdio("npx -y mcp-remote@0.1 https://a.example/mcp --allow-http")],
  ])("is the same for %j and %j", (one, other) => {
    expect(identityOf(one)).toBe(identityOf(other));
  });

  test.each([
    [stdio("npx x"), stdio("npx y")],
    [stdio("npx x@1"), stdio("npx x@2")],
    [stdio("/a/server"), stdio("/b/server")],
    [stdio("node server.js", { cwd: "/a" }), stdio("node server.js", { cwd: "/b" })],
    [remote("https://a.example/mcp?k=1"), remote("https://a.example/mcp?k=2")],
    [remote("https://a.example/a"), remote("https://a.example/A")],
  ])("differs between %j and %j", (one, other) => {
    expect(identityOf(one)).not.toBe(identityOf(other));
  });
});

describe("the fingerprint", () => {
  test.each([
    ["the place of a well-known program", stdio("npx x"), stdio("/tmp/npx x")],
    ["the folder", stdio("x", { cwd: "/a" }), stdio("x", { cwd: "/b" })],
    ["the names of variables", stdio("x"), stdio("x", { env: { A: "" } })],
    ["the address", remote("https://a.example/a"), remote("https://a.example/b")],
    [
      "the names of headers",
      remote("https://a.example"),
      remote("https://a.example", { headers: { A: "" } }),
    ],
  ])("changes with %s", (_what, one, other) => {
    expect(fingerprintOf(one)).not.toBe(fingerprintOf(other));
  });

  test("does not change with a secret", () => {
    const [one, other] = ["1", "2"].map((token) => fingerprintOf(stdio("x", { env: { TOKEN: token } })));

    expect(one).toBe(other ?? "");
  });
});
