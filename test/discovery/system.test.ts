/** Whole fake systems: what an administrator's files define and forbid, beside what the user has. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { discover } from "../../src/discovery/discover.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-system-")));
  mkdirSync(join(root, "home/project"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: unknown): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
}

/** Each server with its state and the scope of the definition that counts. */
async function survey(env: Record<string, string> = {}): Promise<Record<string, string>> {
  const config = {
    ...loadConfig({ HOME: join(root, "home"), ...env }),
    projectDir: join(root, "home/project"),
    platform: "linux" as const,
    systemRoot: root,
  };
  const { servers } = await discover(config);
  return Object.fromEntries(
    servers.map(({ name, availability, origins }) => [name, `${availability.kind} ${origins[0].scope}`]),
  );
}

const server = (command: string) => ({ command, args: [] });

test("managed-mcp.json of Claude Code defines servers and leaves no others to it", async () => {
  write("etc/claude-code/managed-mcp.json", { mcpServers: { corp: server("corp") } });
  write("home/.claude.json", { mcpServers: { mine: server("mine"), corp: server("other") } });
  write("home/.cursor/mcp.json", { mcpServers: { cursors: server("cursors") } });
  write("home/MCPs/a.json", { mcpServers: { ours: server("ours") } });

  expect(await survey()).toMatchObject({
    corp: "usable system",
    mine: "forbidden user",
    cursors: "usable user",
    ours: "usable user",
  });
});

test("the system settings of Gemini CLI define servers and say which there may be", async () => {
  write("etc/gemini-cli/settings.json", {
    mcp: { allowed: ["corp"] },
    mcpServers: { corp: server("corp") },
  });
  write("home/.gemini/settings.json", { mcpServers: { mine: server("mine"), corp: server("evil") } });

  const servers = await survey();
  expect(servers["corp"]).toBe("usable system");
  expect(servers["mine"]).toBe("forbidden user");
});

test("requirements.toml of Codex names the servers that there may be, and what they are", async () => {
  write(
    "etc/codex/requirements.toml",
    [
      '[mcp_servers.docs.identity]\ncommand = "docs-mcp"',
      '[mcp_servers.remote.identity]\nurl = "https://example.com/mcp"',
      "[mcp_servers.cli.identity.command]",
      'executable = "cli"',
      'args = [{ match = "exact", value = "serve" }, { match = "prefix", value = "team-" }, { match = "regex", expression = "[a-z]+" }]',
    ].join("\n"),
  );
  write(
    "home/.codex/config.toml",
    [
      '[mcp_servers.docs]\ncommand = "docs-mcp"\nargs = ["x"]',
      '[mcp_servers.other]\ncommand = "docs-mcp"',
      '[mcp_servers.remote]\nurl = "https://evil.example/mcp"',
      '[mcp_servers.cli]\ncommand = "cli"\nargs = ["serve", "team-a", "abc"]',
    ].join("\n"),
  );

  expect(await survey()).toEqual({
    docs: "usable user",
    other: "forbidden user",
    remote: "forbidden user",
    cli: "usable user",
  });

  write("home/.codex/config.toml", '[mcp_servers.cli]\ncommand = "cli"\nargs = ["serve", "team-a", "abc1"]');
  expect(await survey()).toEqual({ cli: "forbidden user" });
});

test("what is switched off and forbidden is forbidden; what a project has and is off is off", async () => {
  write("etc/vscode/policy.json", { ChatMCP: "none" });
  write("home/.config/Code/User/mcp.json", { servers: { a: { ...server("a"), disabled: true } } });
  write("home/project/.cursor/mcp.json", {
    mcpServers: { b: { ...server("b"), disabled: true }, c: server("c") },
  });

  expect(await survey()).toEqual({ a: "forbidden user", b: "disabled project", c: "untrusted project" });
});

test("a project's server that needs something is untrusted first", async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the file
  const env = { K: "${env:MISSING}" };
  write("home/project/.cursor/mcp.json", { mcpServers: { a: { ...server("a"), env } } });

  expect(await survey()).toEqual({ a: "untrusted project" });
  expect(await survey({ MCP_BRIDGE_TRUST_PROJECT: "1" })).toEqual({ a: "needs project" });
});

test("a file of the project that a variable names is the project's", async () => {
  write("home/project/opencode-here.json", { mcp: { a: { type: "local", command: ["a"] } } });
  write("home/elsewhere.json", { mcp: { a: { type: "local", command: ["a"] } } });

  for (const path of [
    "opencode-here.json",
    "./opencode-here.json",
    join(root, "home/project/opencode-here.json"),
  ]) {
    expect(await survey({ OPENCODE_CONFIG: path })).toEqual({ a: "untrusted project" });
  }
  expect(await survey({ OPENCODE_CONFIG: join(root, "home/elsewhere.json") })).toEqual({ a: "usable user" });
});
