import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Config } from "../../config/config.ts";
import {
  forbidAll,
  isObject,
  type LoadPolicy,
  type PolicyContext,
  type PolicyFile,
  type PolicySubject,
  systemPath,
} from "./policy.ts";
import { findMatch, matchesRule, parseServerList, type ServerList, type ServerRule } from "./server-lists.ts";

const CLIENTS = ["Claude Code"];
const FOLDER = {
  linux: "/etc/claude-code",
  darwin: "/Library/Application Support/ClaudeCode",
  win32: "C:\\Program Files\\ClaudeCode",
} as const;
const MAX_DROP_INS = 200;

/**
 * Claude Code: `managed-mcp.json` alone says which servers there are, where it exists; `deniedMcpServers` of every
 * settings file and `allowedMcpServers` of the managed ones and the user's limit the rest. As its documentation has it
 * (code.claude.com/docs/en/managed-mcp), but that a project's file cannot allow anything.
 */
export const loadClaudeCodePolicy: LoadPolicy = async (context) => {
  const { config, files } = context;
  const folder = systemPath(config, FOLDER);
  const managed = await readManaged(folder, context);
  const exclusive = await files.read(join(folder, "managed-mcp.json"));
  const unreadable = [...managed, exclusive].find((file) => file.kind === "unreadable");
  if (unreadable !== undefined) return forbidAll(CLIENTS, unreadable);
  const user = await files.read(join(userFolder(config), "settings.json"));
  const project = await Promise.all(
    ["settings.json", "settings.local.json"].map((name) =>
      files.read(join(config.projectDir, ".claude", name)),
    ),
  );
  const onlyManaged = managed.some((file) => settingOf(file, "allowManagedMcpServersOnly") === true);
  const pluginsOnly = managed.find((file) =>
    forbidsOwnServers(settingOf(file, "strictPluginOnlyCustomization")),
  );
  const denied = listsOf([...managed, user, ...project], "deniedMcpServers", context);
  const allowed = listsOf(onlyManaged ? managed : [...managed, user], "allowedMcpServers", context);
  if (
    exclusive.kind === "absent" &&
    pluginsOnly === undefined &&
    denied.length === 0 &&
    allowed.length === 0
  ) {
    return undefined;
  }
  return {
    clients: CLIENTS,
    forbids(server) {
      const isManaged = server.origin.scope === "system";
      if (exclusive.kind !== "absent" && !isManaged) {
        return `${exclusive.file}, which alone says which servers Claude Code has`;
      }
      if (pluginsOnly !== undefined && !isManaged) {
        return `"strictPluginOnlyCustomization" in ${pluginsOnly.file}`;
      }
      const denying = findMatch(denied, server);
      if (denying !== undefined) return denying.place;
      const [first] = allowed;
      const rules = allowed.flatMap((list) => list.rules);
      return first === undefined || isAllowed(rules, server) ? undefined : first.place;
    },
  };
};

/** A name counts only where no entry says more about servers of this kind: users choose the names. */
function isAllowed(rules: readonly ServerRule[], server: PolicySubject): boolean {
  const telling = server.transport.kind === "remote" ? "serverUrl" : "serverCommand";
  const byIdentity = rules.filter((rule) => telling in rule);
  const counting = byIdentity.length > 0 ? byIdentity : rules.filter((rule) => "serverName" in rule);
  return counting.some((rule) => matchesRule(rule, server));
}

async function readManaged(folder: string, { files }: PolicyContext): Promise<readonly PolicyFile[]> {
  const dropIns = join(folder, "managed-settings.d");
  const names = await readdir(dropIns).catch(() => []); // most have none
  const chosen = names.filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort();
  const paths = [
    "managed-settings.json",
    ...chosen.slice(0, MAX_DROP_INS).map((name) => join("managed-settings.d", name)),
  ];
  return Promise.all(paths.map((path) => files.read(join(folder, path))));
}

function userFolder({ env, homeDir }: Config): string {
  const own = env["CLAUDE_CONFIG_DIR"];
  return own !== undefined && isAbsolute(own) ? own : join(homeDir, ".claude");
}

function listsOf(
  sources: readonly PolicyFile[],
  key: string,
  { config, files }: PolicyContext,
): ServerList[] {
  return sources.flatMap((source) => {
    const list = parseServerList(settingOf(source, key), `"${key}" in ${source.file}`);
    if (list === undefined) return [];
    if (list.faulty > 0)
      files.report(source.file, `"${key}" has ${list.faulty} entries that nobody understands`);
    return [{ ...list, rules: list.rules.map((rule) => expandRule(rule, config)) }];
  });
}

function settingOf(file: PolicyFile, key: string): unknown {
  return file.kind === "read" && isObject(file.value) ? file.value[key] : undefined;
}

function forbidsOwnServers(value: unknown): boolean {
  return value === true || (Array.isArray(value) && value.includes("mcp"));
}

/** Commands and URLs may hold `${NAME}` and `${NAME:-other}`, names of servers not. */
function expandRule(rule: ServerRule, { env }: Config): ServerRule {
  const expand = (text: string) =>
    text.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (whole, name: string, fallback?: string) =>
      Object.hasOwn(env, name) ? (env[name] ?? whole) : (fallback ?? whole),
    );
  if ("serverUrl" in rule) return { serverUrl: expand(rule.serverUrl) };
  return "serverCommand" in rule ? { serverCommand: rule.serverCommand.map(expand) } : rule;
}
