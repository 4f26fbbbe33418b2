// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Machine } from "../helpers.ts";

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});
afterEach(() => rmSync(machine.root, { recursive: true, force: true }));

const CLIENT_FILES = {
  claude: "project/.mcp.json",
  cursor: "project/.cursor/mcp.json",
  codex: "project/.codex/config.toml",
  opencode: "project/opencode.json",
} as const;

async function pinned(
  file: keyof typeof CLIENT_FILES,
  entry: unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const content =
    file === "opencode"
      ? { mcp: { x: entry } }
      : file === "codex"
        ? `[mcp_servers.x]\n${String(entry)}`
        : { mcpServers: { x: entry } };
  machine.write(CLIENT_FILES[file], content);
  const { servers } = await machine.discover({ SECRET: "s-1", OTHER: "o-1", ...env });
  expect(servers.map(({ name }) => name)).toEqual(["x"]);
  return servers[0]?.pin ?? "";
}

const stdio = (env: Readonly<Record<string, string>>, more: object = {}) => ({ command: "x", env, ...more });
const remote = (headers: Readonly<Record<string, string>>, more: object = {}) => ({
  url: "https://a.example/mcp",
  headers,
  ...more,
});

describe("asks again for a value that comes from elsewhere", () => {
  test.each<[string, keyof typeof CLIENT_FILES, unknown, unknown]>([
    ["a header", "claude", remote({ A: "b" }), remote({ A: "${SECRET}" })],
    ["a header of two", "claude", remote({ A: "${OTHER}" }), remote({ A: "${OTHER}${SECRET}" })],
    ["a default", "claude", remote({ A: "${OTHER:-x}" }), remote({ A: "${OTHER:-${SECRET}}" })],
    ["another header", "claude", remote({ A: "${OTHER}", B: "c" }), remote({ A: "a", B: "${OTHER}" })],
    ["a variable", "claude", stdio({ A: "b" }), stdio({ A: "${SECRET}" })],
    ["a variable of Cursor", "cursor", stdio({ A: "b" }), stdio({ A: "${env:SECRET}" })],
    [
      "a file",
      "opencode",
      { type: "local", command: ["x"], environment: { A: "b" } },
      { type: "local", command: ["x"], environment: { A: "{file:~/.ssh/id}" } },
    ],
    ["an envFile", "cursor", stdio({ A: "b" }), { command: "x", envFile: "${userHome}/.env" }],
    [
      "env_vars of Codex",
      "codex",
      'command = "x"\n[mcp_servers.x.env]\nSECRET = "b"',
      'command = "x"\nenv_vars = ["SECRET"]',
    ],
    [
      "env_http_headers of Codex",
      "codex",
      'url = "https://a.example/"\nhttp_headers = { A = "b" }',
      'url = "https://a.example/"\nenv_http_headers = { A = "SECRET" }',
    ],
    [
      "bearer_token_env_var of Codex",
      "codex",
      'url = "https://a.example/"\nhttp_headers = { Authorization = "b" }',
      'url = "https://a.example/"\nbearer_token_env_var = "SECRET"',
    ],
    [
      "the secret of a sign-in",
      "claude",
      remote({}, { oauth: { clientId: "c", clientSecret: "b" } }),
      remote({}, { oauth: { clientId: "c", clientSecret: "${SECRET}" } }),
    ],
    [
      "the address that is given a token",
      "claude",
      stdio({ KEY: "${SECRET}", API: "https://api.example/v1" }),
      stdio({ KEY: "${SECRET}", API: "https://evil.example/v1" }),
    ],
    ["a path of settings", "claude", stdio({ CONFIG: "~/.x" }), stdio({ CONFIG: "./x" })],
    ["a proxy", "claude", stdio({ HTTPS_PROXY: "a:80" }), stdio({ HTTPS_PROXY: "b:80" })],
    ["a home", "claude", stdio({ HOME: "a" }), stdio({ HOME: "b" })],
    [
      "what a sign-in may do",
      "claude",
      remote({}, { oauth: { clientId: "c", scopes: ["read"] } }),
      remote({}, { oauth: { clientId: "c", scopes: ["read", "write"] } }),
    ],
  ])("%s", async (_title, file, before, after) => {
    machine.write("home/.ssh/id", "key");
    machine.write("home/.env", "A=b");

    const pin = await pinned(file, before);

    expect(await pinned(file, after)).not.toBe(pin);
  });

  test.each(["{file:./token.txt}", "{file:token.txt}"])("a file that becomes a link: %s", async (text) => {
    const entry = { type: "remote", url: "https://a.example/mcp", headers: { A: text } };
    machine.write("home/.ssh/id", "same");
    const file = machine.write("project/token.txt", "same");
    const pin = await pinned("opencode", entry);
    rmSync(file);
    symlinkSync(join(machine.home, ".ssh/id"), file);

    expect(await pinned("opencode", entry)).not.toBe(pin);
  });
});

describe("does not ask again for", () => {
  test.each<[string, unknown, unknown]>([
    ["another token in a header", remote({ A: "Bearer one" }), remote({ A: "Bearer two" })],
    ["another token in a variable", stdio({ A: "sk-one" }), stdio({ A: "sk-two" })],
    [
      "another password in an address",
      stdio({ DSN: "postgres://me:one@db.example/x" }),
      stdio({ DSN: "postgres://me:two@db.example/x" }),
    ],
    [
      "another secret of a sign-in",
      remote({}, { oauth: { clientId: "c", clientSecret: "one" } }),
      remote({}, { oauth: { clientId: "c", clientSecret: "two" } }),
    ],
  ])("%s", async (_title, before, after) => {
    const pin = await pinned("claude", before);

    expect(await pinned("claude", after)).toBe(pin);
  });

  test("another environment", async () => {
    const entry = stdio({ A: "${SECRET:-${OTHER}}", PATH: "${PATH}:x", API: "${API:-https://a.example}" });
    const pins = [
      await pinned("claude", entry, { PATH: "/bin" }),
      await pinned("claude", entry, { PATH: "/usr/bin", SECRET: "", API: "https://b.example" }),
      await pinned("claude", entry, { SECRET: "s-2", OTHER: "" }),
    ];

    expect(new Set(pins).size).toBe(1);
  });

  test("another token in a file that it takes one from", async () => {
    const entry = { type: "remote", url: "https://a.example/mcp", headers: { A: "{file:~/token}" } };
    machine.write("home/token", "one");
    const pin = await pinned("opencode", entry);
    machine.write("home/token", "two");

    expect(await pinned("opencode", entry)).toBe(pin);
  });
});

test("says where values come from", async () => {
  machine.write("project/.mcp.json", {
    mcpServers: { x: remote({ "X-Key": "${SECRET}", "X-Other": "${OTHER:-none} b" }) },
  });

  const { servers } = await machine.discover({ SECRET: "s" });

  expect(servers[0]?.sources).toEqual(["header x-key: ${SECRET}", "header x-other: ${OTHER:-none}"]);
});
