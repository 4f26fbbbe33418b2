import { expect, test } from "bun:test";
import { parseEndpoint } from "../../../src/upstream/remote/server-fetch.ts";

test.each([
  ["escapes", "me:pass%2Dword", "me:pass-word"],
  ["a % that begins none", "me:50%of%zz", "me:50%of%zz"],
  ["both", "m%C3%A9:100%%21", "mé:100%!"],
  ["what is no UTF-8", "me:%FF%21", "me:%FF%21"],
])("user and password in a URL may have %s, and are not shown", (_title, given, meant) => {
  const { headers, secrets, shown } = parseEndpoint(`http://${given}@example.com/mcp?key=x`, {});
  expect(headers["authorization"]).toBe(`Basic ${Buffer.from(meant).toString("base64")}`);
  expect(secrets).toContain(meant.slice(meant.indexOf(":") + 1));
  expect(shown).toBe("http://example.com/mcp");
});
