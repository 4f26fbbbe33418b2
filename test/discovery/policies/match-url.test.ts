import { expect, test } from "bun:test";
import { matchesUrl } from "../../../src/discovery/policies/match-url.ts";

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
