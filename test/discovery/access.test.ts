import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { discover } from "../../src/discovery/discover.ts";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-access-"));
  for (const folder of ["MCPs", ".cursor"]) mkdirSync(join(home, folder));
  write("MCPs/a.json", {
    "git-hub": { command: "gh" },
    notes: { command: "n" },
    "io/notes": { command: "io" },
    off: { command: "o", disabled: true },
  });
  // Another server of the same name, and the same server by another name.
  write(".cursor/mcp.json", { notes: { command: "other" }, forge: { url: "https://forge.example/mcp" } });
  write("MCPs/b.json", { code: { url: "https://forge.example/mcp" } });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(file: string, mcpServers: object): void {
  writeFileSync(join(home, file), JSON.stringify({ mcpServers }));
}

async function find(env: Readonly<Record<string, string>>): Promise<readonly ServerDefinition[]> {
  const config = { ...loadConfig({ HOME: home, ...env }), projectDir: "/nowhere", systemRoot: home };
  return (await discover(config)).servers;
}

/** What is not usable, and why. */
async function refused(env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const servers = await find(env);
  return Object.fromEntries(
    servers.flatMap(({ name, availability }) => {
      if (availability.kind === "usable") return [];
      return [[name, availability.kind === "forbidden" ? availability.rule : availability.kind]];
    }),
  );
}

const DENY = (glob: string) => `${JSON.stringify(glob)} of MCP_BRIDGE_DENY_SERVERS`;
const ALLOW = "MCP_BRIDGE_ALLOW_SERVERS, which does not name it";

test.each<[Record<string, string>, Record<string, string>]>([
  [{}, { off: "disabled" }],
  [{ MCP_BRIDGE_DENY_SERVERS: "git-*" }, { "git-hub": DENY("git-*"), off: "disabled" }],
  [{ MCP_BRIDGE_DENY_SERVERS: "git_hub" }, { "git-hub": DENY("git_hub"), off: "disabled" }], // its alias
  [
    { MCP_BRIDGE_DENY_SERVERS: "notes" },
    { notes: DENY("notes"), "notes@cursor": DENY("notes"), off: "disabled" }, // by the name in its file
  ],
  [{ MCP_BRIDGE_DENY_SERVERS: "notes@*" }, { "notes@cursor": DENY("notes@*"), off: "disabled" }],
  [{ MCP_BRIDGE_DENY_SERVERS: "forge" }, { code: DENY("forge"), off: "disabled" }], // by its name in any file
  [
    { MCP_BRIDGE_DENY_SERVERS: "off", MCP_BRIDGE_ADD_SERVERS: "*" },
    { off: DENY("off") }, // stricter than being switched off, so that nobody adds it
  ],
  [
    { MCP_BRIDGE_ALLOW_SERVERS: "notes,git_hub" }, // an alias depends on what else there is
    { "git-hub": ALLOW, "io/notes": ALLOW, off: ALLOW, "notes@cursor": ALLOW, code: ALLOW },
  ],
  [
    { MCP_BRIDGE_ALLOW_SERVERS: "*", MCP_BRIDGE_DENY_SERVERS: "notes*" },
    { notes: DENY("notes*"), "notes@cursor": DENY("notes*"), off: "disabled" },
  ],
])("servers: %j forbids %j", async (env, expected) => {
  expect(await refused(env)).toEqual(expected);
});

async function toolPolicies(env: Readonly<Record<string, string>>) {
  const servers = await find(env);
  return Object.fromEntries(
    servers.flatMap(({ name, tools: { policy } }) => {
      if (policy === undefined) return [];
      return [
        [name, { allow: policy.allow?.globs, deny: policy.deny.map(({ glob }) => glob), ask: policy.ask }],
      ];
    }),
  );
}

test("tools: patterns with a server are for that server, by any of its names where they deny", async () => {
  const policies = await toolPolicies({ MCP_BRIDGE_DENY_TOOLS: "drop*,git_hub/del*,io/notes/x,forge/y" });
  expect(policies).toMatchObject({
    "git-hub": { allow: undefined, deny: ["drop*", "git_hub/del*", "del*", "io/notes/x", "forge/y"] },
    notes: { deny: ["drop*", "git_hub/del*", "io/notes/x", "forge/y"] },
    "io/notes": { deny: ["drop*", "git_hub/del*", "io/notes/x", "x", "forge/y"] },
    code: { deny: ["drop*", "git_hub/del*", "io/notes/x", "forge/y", "y"] },
  });
});

test("tools: what is to be asked for is said as what is denied", async () => {
  const rule = (glob: string, of = glob) => ({
    glob,
    rule: `${JSON.stringify(of)} of MCP_BRIDGE_ASK`,
    where: "MCP_BRIDGE_ASK",
  });
  expect(await toolPolicies({ MCP_BRIDGE_ASK: "drop*,git_hub/destructive" })).toMatchObject({
    "git-hub": {
      deny: [],
      ask: [rule("drop*"), rule("git_hub/destructive"), rule("destructive", "git_hub/destructive")],
    },
    notes: { ask: [rule("drop*"), rule("git_hub/destructive")] },
  });
});

test("tools: what is allowed of one server is not allowed of others", async () => {
  const policies = await toolPolicies({ MCP_BRIDGE_ALLOW_TOOLS: "read*,notes/*,git_hub/x" });
  expect(policies).toMatchObject({
    notes: { allow: ["read*", "*"] },
    "io/notes": { allow: ["read*"] },
    "git-hub": { allow: ["read*"] },
  });
});

test("tools: without a setting nothing is said of them", async () => {
  expect(await toolPolicies({})).toEqual({});
});
