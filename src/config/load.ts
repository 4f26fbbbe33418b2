import { BridgeError } from "../core/errors.ts";
import type { Config } from "./config.ts";
import { bridgeDepth } from "./depth.ts";
import { defaultStateDir, resolveHomeDir, resolveOwnFolders, resolveUserPath } from "./paths.ts";
import { SETTING_NAMES, type SettingName, settingsSchema } from "./schema.ts";

const DEFAULT_TIMEOUT_S = 30;
const DEFAULT_MAX_TIMEOUT_S = 120;

/** Values that stand above the environment: the flags of the command line, under the names of the variables. */
export type ConfigOverrides = Partial<Readonly<Record<SettingName, string>>>;

/**
 * Reads the bridge's settings: overrides, then `env`, then defaults. A variable that is empty or blank counts as not
 * set. Throws `CONFIG_INVALID` that names every variable at fault, its value, and what is expected.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Config {
  const given = collectSettings(env, overrides);
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    throw invalid(
      parsed.error.issues.map(({ path, message }) => ({ name: path[0] as SettingName, expected: message })),
      given,
    );
  }
  const settings = parsed.data;
  const maxTimeout = settings.MCP_BRIDGE_MAX_TIMEOUT ?? DEFAULT_MAX_TIMEOUT_S;
  // A user who only lowers the maximum wants the default to follow.
  const timeout = settings.MCP_BRIDGE_TIMEOUT ?? Math.min(DEFAULT_TIMEOUT_S, maxTimeout);
  if (timeout > maxTimeout) {
    const limit = `at most MCP_BRIDGE_MAX_TIMEOUT, which is ${maxTimeout}`;
    throw invalid([{ name: "MCP_BRIDGE_TIMEOUT", expected: limit }], given);
  }
  const homeDir = resolveHomeDir(env);
  const { MCP_SERVERS_CONFIG: serversConfig, MCP_BRIDGE_STATE_DIR: stateDir } = settings;
  return {
    engine: settings.MCP_BRIDGE_RUNTIME ?? "auto",
    ociRuntime: settings.MCP_BRIDGE_OCI_RUNTIME,
    image: settings.MCP_BRIDGE_IMAGE ?? "python:3.14-slim",
    timeoutMs: timeout * 1000,
    maxTimeoutMs: maxTimeout * 1000,
    memoryBytes: settings.MCP_BRIDGE_MEMORY ?? 512 * 1024 ** 2,
    pids: settings.MCP_BRIDGE_PIDS ?? 128,
    cpus: settings.MCP_BRIDGE_CPUS,
    containerUser: settings.MCP_BRIDGE_CONTAINER_USER ?? "65534:65534",
    idleTimeoutMs: (settings.MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT ?? 300) * 1000,
    upstreamIdleTimeoutMs: (settings.MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT ?? 600) * 1000,
    stateDir: stateDir === undefined ? defaultStateDir(homeDir) : resolveUserPath(stateDir, homeDir),
    maxOutputChars: settings.MCP_BRIDGE_MAX_OUTPUT ?? 65_536,
    outputMode: settings.MCP_BRIDGE_OUTPUT_MODE ?? "compact",
    stateless: settings.MCP_BRIDGE_STATELESS ?? false,
    logLevel: settings.MCP_BRIDGE_LOG_LEVEL ?? "INFO",
    serversConfig: serversConfig === undefined ? undefined : resolveServersConfig(serversConfig, homeDir),
    allowSelfServer: settings.MCP_BRIDGE_ALLOW_SELF_SERVER ?? false,
    trustProject: settings.MCP_BRIDGE_TRUST_PROJECT ?? false,
    depth: bridgeDepth(env),
    addServers: settings.MCP_BRIDGE_ADD_SERVERS ?? [],
    homeDir,
    projectDir: process.cwd(),
    platform: process.platform,
    systemRoot: "/",
    ...resolveOwnFolders(env, homeDir, process.platform),
    env: Object.fromEntries(
      Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
  };
}

/** A path, or the configuration itself as JSON. */
function resolveServersConfig(value: string, homeDir: string): string {
  return /^[{[]/.test(value) ? value : resolveUserPath(value, homeDir);
}

function collectSettings(env: Readonly<Record<string, string | undefined>>, overrides: ConfigOverrides) {
  const given: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const value = (overrides[name] ?? env[name] ?? "").trim();
    if (value !== "") given[name] = value;
  }
  return given;
}

function invalid(
  faults: readonly { readonly name: SettingName; readonly expected: string }[],
  given: Partial<Record<SettingName, string>>,
): BridgeError {
  const lines = faults.map(
    ({ name, expected }) => `${name} is ${JSON.stringify(given[name])}: expected ${expected}`,
  );
  const names = faults.map(({ name }) => name);
  return new BridgeError("CONFIG_INVALID", lines.join("\n"), {
    hint: `Correct it, or unset ${names.join(" and ")} for the default.`,
    data: { variables: names },
  });
}
