import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Config } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createPolicyJudge } from "../../../src/discovery/judges/policy.ts";
import { loadPolicies, locatePolicies } from "../../../src/discovery/policies/load-policies.ts";
import type { Origin, ServerDefinition } from "../../../src/discovery/server-definition.ts";

let root: string;
let config: Config;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sandpy-policies-"));
  config = {
    ...loadConfig({ HOME: join(root, "home"), CORP: "corp" }),
    platform: "linux",
    systemRoot: root,
    projectDir: join(root, "project"),
  };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes a file below the root of the fake system. */
function write(path: string, content: unknown): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

interface Case {
  readonly client: string;
  readonly key?: string;
  readonly words?: readonly string[];
  readonly url?: string;
  readonly scope?: Origin["scope"];
}

function server({
  client,
  key = "x",
  words = ["node", "x.js"],
  url,
  scope = "user",
}: Case): ServerDefinition {
  const [command = "", ...args] = words;
  return {
    name: key,
    alias: key,
    description: "",
    transport:
      url === undefined
        ? { kind: "stdio", command, args, env: {}, cwd: undefined }
        : { kind: "remote", protocol: "auto", url, headers: {}, oauth: undefined },
    availability: { kind: "usable" },
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [{ client, scope, file: "/f.json", key }],
    fingerprint: "",
    sources: [],
    pin: "",
  };
}

/** The rule that forbids a server, with the root left out; `undefined` where none does. */
async function ruleFor(which: Case): Promise<string | undefined> {
  const { policies } = await loadPolicies(config);
  const answer = await createPolicyJudge(policies)(server(which));
  return answer?.kind === "forbidden" ? answer.rule.replaceAll(root, "") : undefined;
}

test("there is none where no file says anything", async () => {
  expect(await loadPolicies(config)).toEqual({ policies: [], problems: [] });
});

test("the files that are looked at can be told without reading them", async () => {
  const drop = write("etc/claude-code/managed-settings.d/10-mcp.json", {});
  const paths = await locatePolicies(config);
  expect(paths).toContain(drop);
  expect(paths).toContain(join(root, "etc/codex/requirements.toml"));
  expect(paths.length).toBeGreaterThan(8);
});

describe("Claude Code", () => {
  const client = "Claude Code";
  const settings = "etc/claude-code/managed-settings.json";

  test.each<[string, object, Case, string | undefined]>([
    ["a denied name", { deniedMcpServers: [{ serverName: "x" }] }, { client }, "deniedMcpServers"],
    [
      "a denied command",
      { deniedMcpServers: [{ serverCommand: ["node", "x.js"] }] },
      { client },
      "deniedMcpServers",
    ],
    ["another argument", { deniedMcpServers: [{ serverCommand: ["node"] }] }, { client }, undefined],
    [
      "a denied URL",
      { deniedMcpServers: [{ serverUrl: "https://*.example.com/*" }] },
      { client, url: "https://a.example.com/mcp" },
      "deniedMcpServers",
    ],
    [
      "denied, although allowed",
      { allowedMcpServers: [{ serverName: "x" }], deniedMcpServers: [{ serverName: "x" }] },
      { client },
      "deniedMcpServers",
    ],
    ["nothing allowed", { allowedMcpServers: [] }, { client }, "allowedMcpServers"],
    ["allowed by name", { allowedMcpServers: [{ serverName: "x" }] }, { client }, undefined],
    [
      "a name, where commands are allowed",
      { allowedMcpServers: [{ serverName: "x" }, { serverCommand: ["other"] }] },
      { client },
      "allowedMcpServers",
    ],
    [
      "a name of a remote server, where only commands are allowed",
      { allowedMcpServers: [{ serverName: "x" }, { serverCommand: ["other"] }] },
      { client, url: "https://a.example.com/mcp" },
      undefined,
    ],
    [
      "allowed with a variable",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the file
      { allowedMcpServers: [{ serverUrl: "https://${CORP}.example.com/*" }] },
      { client, url: "https://corp.example.com/mcp" },
      undefined,
    ],
    ["plugins only", { strictPluginOnlyCustomization: ["mcp"] }, { client }, "strictPluginOnlyCustomization"],
    ["another client", { allowedMcpServers: [] }, { client: "Cursor" }, undefined],
  ])("%s", async (_title, content, which, key) => {
    write(settings, content);
    expect(await ruleFor(which)).toBe(key === undefined ? undefined : `"${key}" in /${settings}`);
  });

  test("drop-ins count as well", async () => {
    const file = "etc/claude-code/managed-settings.d/10-mcp.json";
    write(file, { deniedMcpServers: [{ serverName: "x" }] });
    expect(await ruleFor({ client })).toBe(`"deniedMcpServers" in /${file}`);
  });

  test("managed-mcp.json alone says which servers there are", async () => {
    write("etc/claude-code/managed-mcp.json", { mcpServers: {} });
    expect(await ruleFor({ client })).toBe(
      "/etc/claude-code/managed-mcp.json, which alone says which servers Claude Code has",
    );
    expect(await ruleFor({ client, scope: "system" })).toBeUndefined();
  });

  test("the user's own lists count, but for allowing what only the managed ones may", async () => {
    write("home/.claude/settings.json", {
      allowedMcpServers: [{ serverName: "x" }],
      deniedMcpServers: [{ serverName: "y" }],
    });
    write(settings, { allowedMcpServers: [{ serverName: "z" }] });
    expect(await ruleFor({ client })).toBeUndefined();
    expect(await ruleFor({ client, key: "y" })).toBe('"deniedMcpServers" in /home/.claude/settings.json');

    write(settings, { allowManagedMcpServersOnly: true, allowedMcpServers: [{ serverName: "z" }] });
    expect(await ruleFor({ client })).toBe(`"allowedMcpServers" in /${settings}`);
  });

  test("a project can deny, but not allow", async () => {
    write("project/.claude/settings.json", {
      allowedMcpServers: [{ serverName: "x" }],
      deniedMcpServers: [{ serverName: "y" }],
    });
    write(settings, { allowedMcpServers: [{ serverName: "y" }] });
    expect(await ruleFor({ client })).toBe(`"allowedMcpServers" in /${settings}`);
    expect(await ruleFor({ client, key: "y" })).toBe('"deniedMcpServers" in /project/.claude/settings.json');
  });

  test("a managed file that cannot be read forbids everything, and is reported", async () => {
    const file = write(settings, "{");
    expect(await ruleFor({ client })).toStartWith(`/${settings}, which is not valid JSON`);
    expect((await loadPolicies(config)).problems).toMatchObject([{ where: expect.stringContaining(file) }]);
  });

  test("so does one that is no file", async () => {
    mkdirSync(join(root, settings), { recursive: true });
    expect(await ruleFor({ client })).toBe(`/${settings}, which cannot be read: it is not a file`);
  });
});

describe("GitHub Copilot and VS Code", () => {
  const managed = "etc/github-copilot/managed-settings.json";
  const editor = "etc/vscode/policy.json";

  test.each<[string, string, unknown, Case, string | undefined]>([
    [
      "denied",
      managed,
      { deniedMcpServers: [{ serverName: "x" }] },
      { client: "Copilot CLI" },
      "deniedMcpServers",
    ],
    [
      "in VS Code too",
      managed,
      { deniedMcpServers: [{ serverName: "x" }] },
      { client: "VS Code" },
      "deniedMcpServers",
    ],
    [
      "allowed, under overridable",
      managed,
      { allowedMcpServers: { overridable: [{ serverCommand: ["node", "x.js"] }] } },
      { client: "JetBrains Copilot" },
      undefined,
    ],
    ["nothing allowed", managed, { allowedMcpServers: [] }, { client: "Copilot CLI" }, "allowedMcpServers"],
    ["access none", editor, { ChatMCP: "none" }, { client: "VS Code" }, "ChatMCP"],
    ["access all", editor, { ChatMCP: "all" }, { client: "VS Code" }, undefined],
    [
      "a list in text",
      editor,
      { ChatDeniedMcpServers: '[{"serverName":"x"}]' },
      { client: "VS Code" },
      "ChatDeniedMcpServers",
    ],
    ["not Copilot's", editor, { ChatMCP: "none" }, { client: "Copilot CLI" }, undefined],
  ])("%s: %s", async (_title, file, content, which, key) => {
    write(file, content);
    expect(await ruleFor(which)).toBe(key === undefined ? undefined : `"${key}" in /${file}`);
  });

  test("servers of a registry cannot be told from others", async () => {
    write(editor, { ChatMCP: "registry" });
    expect(await ruleFor({ client: "VS Code" })).toStartWith(
      `"ChatMCP" in /${editor}: it allows servers of a registry`,
    );
  });

  test.each([
    ["an entry of two kinds", [{ serverName: "y", serverUrl: "https://y.example" }]],
    ["a name without quotes around the list", "x"],
  ])("%s forbids everything", async (_title, list) => {
    write(managed, { deniedMcpServers: list });
    expect(await ruleFor({ client: "Copilot CLI" })).toBe(
      `"deniedMcpServers" in /${managed}, which has 1 entries that nobody understands`,
    );
  });
});

describe("Gemini CLI and Qwen Code", () => {
  test.each<[string, string, unknown, Case, string | undefined]>([
    ["excluded", "gemini-cli", { mcp: { excluded: ["x"] } }, { client: "Gemini CLI" }, "mcp.excluded"],
    ["not allowed", "gemini-cli", { mcp: { allowed: ["y"] } }, { client: "Gemini CLI" }, "mcp.allowed"],
    ["allowed", "gemini-cli", { mcp: { allowed: ["x"] } }, { client: "Gemini CLI" }, undefined],
    ["no globs", "gemini-cli", { mcp: { allowed: ["*"] } }, { client: "Gemini CLI" }, "mcp.allowed"],
    ["an older key", "gemini-cli", { allowMCPServers: ["y"] }, { client: "Gemini CLI" }, "allowMCPServers"],
    ["a list that is none", "gemini-cli", { mcp: { allowed: "x" } }, { client: "Gemini CLI" }, "mcp.allowed"],
    [
      "off",
      "gemini-cli",
      { admin: { mcp: { enabled: false } } },
      { client: "Gemini CLI" },
      "admin.mcp.enabled",
    ],
    ["globs", "qwen-code", { mcp: { excluded: ["x*"] } }, { client: "Qwen Code", key: "xy" }, "mcp.excluded"],
    ["each its own", "qwen-code", { mcp: { allowed: [] } }, { client: "Gemini CLI" }, undefined],
  ])("%s", async (_title, folder, content, which, key) => {
    const file = `etc/${folder}/settings.json`;
    write(file, content);
    expect(await ruleFor(which)).toBe(key === undefined ? undefined : `"${key}" in /${file}`);
  });

  test("the file may be named by a variable", async () => {
    const file = write("elsewhere.json", { mcp: { allowed: [] } });
    config = { ...config, env: { ...config.env, GEMINI_CLI_SYSTEM_SETTINGS_PATH: file } };
    expect(await ruleFor({ client: "Gemini CLI" })).toBe('"mcp.allowed" in /elsewhere.json');
  });
});

describe("Amp", () => {
  const file = "etc/ampcode/managed-settings.json";
  const rules = [
    { matches: { command: "npx", args: "* @playwright/mcp@*" }, action: "allow" },
    { matches: { command: "npx" }, action: "reject" },
    { matches: { url: "*/evil.example/*" }, action: "reject" },
  ];

  test.each<[string, Case, boolean]>([
    ["the first rule counts", { client: "Amp", words: ["npx", "-y", "@playwright/mcp@1"] }, false],
    ["then the next", { client: "Amp", words: ["npx", "-y", "other"] }, true],
    ["a URL", { client: "Amp", url: "https://evil.example/mcp" }, true],
    ["no rule", { client: "Amp" }, false],
    ["another client", { client: "Cursor", words: ["npx"] }, false],
  ])("%s", async (_title, which, forbidden) => {
    write(file, { "amp.mcpPermissions": rules });
    expect(await ruleFor(which)).toBe(forbidden ? `"amp.mcpPermissions" in /${file}` : undefined);
  });

  test("rules that nobody understands forbid everything", async () => {
    write(file, { "amp.mcpPermissions": [{ matches: {}, action: "delegate" }] });
    expect(await ruleFor({ client: "Amp" })).toContain('has a "amp.mcpPermissions" that nobody understands');
  });
});
