import { join } from "node:path";
import type { Config } from "./config.ts";
import { bridgeDepth } from "./depth.ts";
import { type Given, GivenSettings, type SettingsFile, type SettingTexts } from "./given.ts";
import { resolveHttp } from "./http.ts";
import { currentDir, defaultStateDir, resolveHomeDir, resolveOwnFolders, resolveUserPath } from "./paths.ts";
import { resolvePolicy } from "./policy.ts";
import { SETTINGS, type SettingName } from "./schema.ts";
import { resolveTracing, TRACING_SECRETS } from "./tracing.ts";

/** Who programs run as in a sandbox, unless a setting says otherwise. */
export const DEFAULT_USER = "65534:65534";
const DEFAULT_TIMEOUT_S = 30;
const DEFAULT_MAX_TIMEOUT_S = 120;
const AUDIT_FILE = "audit.jsonl";

/** Values that stand above the environment: the flags of the command line, under the names of the variables. */
export type ConfigOverrides = SettingTexts;

/**
 * Puts the bridge's settings together: overrides, then `env`, then `file`, then defaults. A variable that is empty or
 * blank counts as not set. Throws `CONFIG_INVALID` that names every setting at fault, its value, and what is expected.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
  file?: SettingsFile,
): Config {
  const given = new GivenSettings({ flags: overrides, env, file });
  const timeouts = resolveTimeouts(given);
  const homeDir = resolveHomeDir(env);
  const folders = resolveOwnFolders(env, homeDir, process.platform);
  const toPath = ({ value, source }: Pick<Given, "source"> & { readonly value: string }) =>
    resolveUserPath(value, homeDir, source === "file" ? file?.folder : undefined);
  const serversConfig = given.get("MCP_SERVERS_CONFIG");
  const stateDir = given.get("MCP_BRIDGE_STATE_DIR");
  const { value: audited = true, source = "env" } = given.get("MCP_BRIDGE_AUDIT") ?? {};
  const auditFile = typeof audited === "string" ? toPath({ value: audited, source }) : undefined;
  return {
    engine: given.value("MCP_BRIDGE_RUNTIME") ?? "auto",
    ociRuntime: given.value("MCP_BRIDGE_OCI_RUNTIME"),
    image: given.value("MCP_BRIDGE_IMAGE") ?? "python:3.14-slim",
    ...timeouts,
    memoryBytes: given.value("MCP_BRIDGE_MEMORY") ?? 512 * 1024 ** 2,
    pids: given.value("MCP_BRIDGE_PIDS") ?? 128,
    cpus: given.value("MCP_BRIDGE_CPUS"),
    containerUser: given.value("MCP_BRIDGE_CONTAINER_USER") ?? DEFAULT_USER,
    idleTimeoutMs: (given.value("MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT") ?? 300) * 1000,
    sessions: {
      total: given.value("MCP_BRIDGE_MAX_SESSIONS") ?? 64,
      perCaller: given.value("MCP_BRIDGE_MAX_SESSIONS_PER_CALLER") ?? 16,
      ttlMs: (given.value("MCP_BRIDGE_SESSION_TTL") ?? 3600) * 1000,
    },
    upstreamIdleTimeoutMs: (given.value("MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT") ?? 600) * 1000,
    stateDir: stateDir === undefined ? defaultStateDir(homeDir) : toPath(stateDir),
    projectsQuotaBytes: given.value("MCP_BRIDGE_PROJECTS_QUOTA") ?? 64 * 1024 ** 2,
    maxOutputChars: given.value("MCP_BRIDGE_MAX_OUTPUT") ?? 65_536,
    outputMode: given.value("MCP_BRIDGE_OUTPUT_MODE") ?? "compact",
    stateless: given.value("MCP_BRIDGE_STATELESS") ?? false,
    logLevel: given.value("MCP_BRIDGE_LOG_LEVEL") ?? "INFO",
    logFormat: given.value("MCP_BRIDGE_LOG_FORMAT") ?? "text",
    // A path, or the configuration itself as JSON.
    serversConfig:
      serversConfig === undefined || /^[{[]/.test(serversConfig.value)
        ? serversConfig?.value
        : toPath(serversConfig),
    allowSelfServer: given.value("MCP_BRIDGE_ALLOW_SELF_SERVER") ?? false,
    trustProject: given.value("MCP_BRIDGE_TRUST_PROJECT") ?? false,
    depth: bridgeDepth(env),
    addServers: given.value("MCP_BRIDGE_ADD_SERVERS") ?? [],
    policy: resolvePolicy(given),
    audit:
      audited === false
        ? undefined
        : {
            file: auditFile ?? join(folders.dataDir, AUDIT_FILE),
            arguments: given.value("MCP_BRIDGE_AUDIT_ARGUMENTS") ?? "hash",
          },
    tracing: resolveTracing(env),
    http: resolveHttp(given, toPath),
    homeDir,
    projectDir: currentDir(),
    platform: process.platform,
    systemRoot: "/",
    ...folders,
    env: Object.fromEntries(
      Object.entries(env).filter(
        (pair): pair is [string, string] => pair[1] !== undefined && !isSecret(pair[0]),
      ),
    ),
  };
}

/** What lets people in is nothing for children. */
function isSecret(name: string): boolean {
  if (TRACING_SECRETS.test(name)) return true;
  return Object.hasOwn(SETTINGS, name) && SETTINGS[name as SettingName].isSecret;
}

function resolveTimeouts(given: GivenSettings): Pick<Config, "timeoutMs" | "maxTimeoutMs"> {
  const max = given.get("MCP_BRIDGE_MAX_TIMEOUT");
  const maxSeconds = max?.value ?? DEFAULT_MAX_TIMEOUT_S;
  const timeout = given.get("MCP_BRIDGE_TIMEOUT");
  // A user who only lowers the maximum wants the default to follow.
  const seconds = timeout?.value ?? Math.min(DEFAULT_TIMEOUT_S, maxSeconds);
  if (timeout !== undefined && seconds > maxSeconds) {
    const limit = max?.where ?? "MCP_BRIDGE_MAX_TIMEOUT";
    throw given.refuse(timeout, `at most ${limit}, which is ${maxSeconds}`);
  }
  return { timeoutMs: seconds * 1000, maxTimeoutMs: maxSeconds * 1000 };
}
