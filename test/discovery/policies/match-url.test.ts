import { expect, test } from "bun:test";
import { matchesGlob, matchesUrl } from "../../../src/discovery/policies/glob.ts";

test.each([
  ["*", "", true],
  ["a*c", "abc", true],
  ["a*c", "ac", true],
  ["a*c", "abd", false],
  ["*a*b", "xaxb", true],
  ["* @playwright/mcp@*", "-y @playwright/mcp@latest", true],
  ["a", "aa", false],
  ["", "", true],
  ["", "a", false],
])("the pattern %j and the text %j: %p", (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected);
});

test("a pattern of many stars is answered at once", () => {
  const started = performance.now();
  expect(matchesGlob("*a".repeat(500), "a".repeat(20_000) + "b".repeat(20_000))).toBe(false);
  expect(performance.now() - started).toBeLessThan(1000);
});

test.each([
  ["https://mcp.example.com/*", "https://mcp.example.com/a/b?c=d", true],
  ["https://mcp.example.com", "https://MCP.example.com:443/any", true],
  ["https://mcp.example.com/*", "https://mcp.example.com./x", true],
  ["https://*.example.com/*", "https://a.b.example.com/x", true],
  ["https://*.example.com/*", "https://example.com/x", false],
  ["https://*.example.com/*", "https://evil.net/.example.com/x", false],
  ["https://*.example.com/*", "https://evil.net?.example.com/x", false],
  ["https://mcp.example.com/*", "https://mcp.example.com@evil.net/", false],
  ["https://mcp.example.com/*", "https://mcp.example.com.evil.net/", false],
  ["https://evil.net/*", "https://%65vil.net/", true],
  ["http://localhost:*/*", "http://localhost:3000/mcp", true],
  ["http://localhost/*", "http://localhost:3000/mcp", false],
  ["*://mcp.example.com/*", "http://mcp.example.com/x", true],
  ["https://mcp.example.com/Path", "https://mcp.example.com/path", false],
  ["*mcp.example.com*", "https://evil.net/?mcp.example.com", false],
  ["https://mcp.example.com", "no url", false],
])("the pattern %j and the URL %j: %p", (pattern, url, expected) => {
  expect(matchesUrl(pattern, url)).toBe(expected);
});
