import { describe, expect, test } from "bun:test";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { bridgeDepth, childDepthVariables } from "../../src/config/depth.ts";
import { loadConfig } from "../../src/config/load.ts";
import { resolveHomeDir, resolveOwnFolders } from "../../src/config/paths.ts";
import { SETTING_NAMES, type SettingName } from "../../src/config/schema.ts";
import { BridgeError } from "../../src/core/errors.ts";

const HOME = "/home/u";
const MIB = 1024 ** 2;

function faultOf(env: Record<string, string>, overrides?: Partial<Record<SettingName, string>>): BridgeError {
  try {
    loadConfig(env, overrides);
  } catch (error) {
    if (error instanceof BridgeError) return error;
  }
  throw new Error("the settings were accepted");
}

test("has a default for everything", () => {
  expect(loadConfig({ HOME })).toEqual({
    engine: "auto",
    ociRuntime: undefined,
    image: "python:3.14-slim",
    timeoutMs: 30_000,
    maxTimeoutMs: 120_000,
    memoryBytes: 512 * MIB,
    pids: 128,
    cpus: undefined,
    containerUser: "65534:65534",
    idleTimeoutMs: 300_000,
    upstreamIdleTimeoutMs: 600_000,
    stateDir: "/home/u/MCPs",
    projectsQuotaBytes: 64 * MIB,
    sessions: { total: 64, perCaller: 16, ttlMs: 3_600_000 },
    maxOutputChars: 65_536,
    outputMode: "compact",
    stateless: false,
    logLevel: "INFO",
    logFormat: "text",
    serversConfig: undefined,
    allowSelfServer: false,
    trustProject: false,
    addServers: [],
    policy: {
      servers: { allow: undefined, deny: [] },
      tools: { allow: undefined, deny: [], ask: [] },
      approvalTimeoutMs: 300_000,
      readOnly: undefined,
      maxCalls: { count: 500, where: "MCP_BRIDGE_MAX_CALLS_PER_RUN" },
    },
    audit: {
      file: join(resolveOwnFolders({}, HOME, process.platform).dataDir, "audit.jsonl"),
      arguments: "hash",
    },
    tracing: undefined,
    http: {
      host: "127.0.0.1",
      port: 8848,
      path: "/mcp",
      allowHosts: [],
      allowOrigins: [],
      tokens: [],
      tokenFile: undefined,
      oauth: undefined,
      publicUrl: undefined,
      graceMs: 5000,
      dashboard: false,
      admins: [],
      metricsOpen: false,
      insecureNoAuth: false,
    },
    depth: 0,
    homeDir: HOME,
    projectDir: process.cwd(),
    platform: process.platform,
    systemRoot: "/",
    ...resolveOwnFolders({}, HOME, process.platform),
    env: { HOME },
  });
});

test.each([
  ["linux", {}, [".config/sandpy", ".local/share/sandpy", ".cache/sandpy"]],
  ["darwin", {}, [".config/sandpy", "Library/Application Support/sandpy", "Library/Caches/sandpy"]],
  ["win32", {}, ["AppData/Roaming/sandpy", "AppData/Local/sandpy", "AppData/Local/sandpy/Cache"]],
  ["win32", { APPDATA: "/r", LOCALAPPDATA: "/l" }, ["/r/sandpy", "/l/sandpy", "/l/sandpy/Cache"]],
  [
    "linux",
    { XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d", XDG_CACHE_HOME: "relative" },
    ["/c/sandpy", "/d/sandpy", ".cache/sandpy"],
  ],
] as const)("finds its own folders on %s with %p", (platform, env, expected) => {
  const { configDir, dataDir, cacheDir } = resolveOwnFolders(env, HOME, platform);

  expect([configDir, dataDir, cacheDir]).toEqual(expected.map((path) => resolve(HOME, path)));
});

test.each([
  ["MCP_BRIDGE_RUNTIME", "Docker", { engine: "docker" }],
  ["MCP_BRIDGE_RUNTIME", "auto", { engine: "auto" }],
  ["MCP_BRIDGE_OCI_RUNTIME", "/usr/bin/runsc", { ociRuntime: "/usr/bin/runsc" }],
  [
    "MCP_BRIDGE_IMAGE",
    "registry.example/library/python:3.13",
    { image: "registry.example/library/python:3.13" },
  ],
  ["MCP_BRIDGE_TIMEOUT", "120", { timeoutMs: 120_000 }],
  ["MCP_BRIDGE_MAX_TIMEOUT", "600", { maxTimeoutMs: 600_000, timeoutMs: 30_000 }],
  ["MCP_BRIDGE_MAX_TIMEOUT", "20", { maxTimeoutMs: 20_000, timeoutMs: 20_000 }],
  ["MCP_BRIDGE_MEMORY", "6291456", { memoryBytes: 6 * MIB }],
  ["MCP_BRIDGE_MEMORY", "6291456b", { memoryBytes: 6 * MIB }],
  ["MCP_BRIDGE_MEMORY", "65536k", { memoryBytes: 64 * MIB }],
  ["MCP_BRIDGE_MEMORY", "256M", { memoryBytes: 256 * MIB }],
  ["MCP_BRIDGE_MEMORY", "1.5g", { memoryBytes: 1536 * MIB }],
  ["MCP_BRIDGE_MEMORY", "2 GiB", { memoryBytes: 2048 * MIB }],
  ["MCP_BRIDGE_PIDS", "3", { pids: 3 }],
  ["MCP_BRIDGE_CPUS", "0.5", { cpus: 0.5 }],
  ["MCP_BRIDGE_CONTAINER_USER", "1:0", { containerUser: "1:0" }],
  ["MCP_BRIDGE_CONTAINER_USER", "01000:4294967294", { containerUser: "1000:4294967294" }],
  ["MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT", "1", { idleTimeoutMs: 1000 }],
  ["MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT", "1", { upstreamIdleTimeoutMs: 1000 }],
  ["MCP_BRIDGE_MAX_SESSIONS", "2", { sessions: { total: 2, perCaller: 16, ttlMs: 3_600_000 } }],
  ["MCP_BRIDGE_MAX_SESSIONS_PER_CALLER", "2", { sessions: { total: 64, perCaller: 2, ttlMs: 3_600_000 } }],
  ["MCP_BRIDGE_SESSION_TTL", "60", { sessions: { total: 64, perCaller: 16, ttlMs: 60_000 } }],
  ["MCP_BRIDGE_STATE_DIR", "~", { stateDir: HOME }],
  ["MCP_BRIDGE_STATE_DIR", "~/x/../y", { stateDir: "/home/u/y" }],
  ["MCP_BRIDGE_STATE_DIR", "rel", { stateDir: join(process.cwd(), "rel") }],
  ["MCP_BRIDGE_MAX_OUTPUT", "1000", { maxOutputChars: 1000 }],
  ["MCP_BRIDGE_LOG_LEVEL", "debug", { logLevel: "DEBUG" }],
  ["MCP_BRIDGE_LOG_FORMAT", "JSON", { logFormat: "json" }],
  ["MCP_BRIDGE_ALLOW_SELF_SERVER", "TRUE", { allowSelfServer: true }],
  ["MCP_BRIDGE_ALLOW_SELF_SERVER", "0", { allowSelfServer: false }],
  ["MCP_BRIDGE_TRUST_PROJECT", "1", { trustProject: true }],
  ["MCP_BRIDGE_ADD_SERVERS", "notes, git*", { addServers: ["notes", "git*"] }],
  [
    "MCP_BRIDGE_ALLOW_SERVERS",
    "a, b*",
    { policy: { servers: { allow: { globs: ["a", "b*"], where: "MCP_BRIDGE_ALLOW_SERVERS" } } } },
  ],
  [
    "MCP_BRIDGE_DENY_TOOLS",
    "x/*",
    { policy: { tools: { deny: [{ glob: "x/*", where: "MCP_BRIDGE_DENY_TOOLS" }] } } },
  ],
  [
    "MCP_BRIDGE_ASK",
    "destructive, x/*",
    {
      policy: {
        tools: {
          ask: [
            { glob: "destructive", where: "MCP_BRIDGE_ASK" },
            { glob: "x/*", where: "MCP_BRIDGE_ASK" },
          ],
        },
      },
    },
  ],
  ["MCP_BRIDGE_APPROVAL_TIMEOUT", "60", { policy: { approvalTimeoutMs: 60_000 } }],
  ["MCP_BRIDGE_READ_ONLY", "true", { policy: { readOnly: { where: "MCP_BRIDGE_READ_ONLY" } } }],
  ["MCP_BRIDGE_READ_ONLY", "0", { policy: { readOnly: undefined } }],
  ["MCP_BRIDGE_MAX_CALLS_PER_RUN", "9", { policy: { maxCalls: { count: 9 } } }],
  ["MCP_BRIDGE_AUDIT", "0", { audit: undefined }],
  ["MCP_BRIDGE_AUDIT", "~/calls.jsonl", { audit: { file: "/home/u/calls.jsonl", arguments: "hash" } }],
  ["MCP_BRIDGE_AUDIT_ARGUMENTS", "Masked", { audit: { arguments: "masked" } }],
  ["MCP_SERVERS_CONFIG", "/etc/mcp.json", { serversConfig: "/etc/mcp.json" }],
])("reads %s=%s", (name, value, expected) => {
  expect(loadConfig({ HOME, [name]: value })).toMatchObject(expected);
});

test.each(SETTING_NAMES)("takes an empty or blank %s for not set", (name) => {
  for (const value of ["", " \t"]) {
    const { env: _, ...config } = loadConfig({ HOME, [name]: value });
    const { env: __, ...defaults } = loadConfig({ HOME });
    expect(config).toEqual(defaults);
  }
});

const SECONDS = "a whole number of seconds from 1 to 2147483";
const SIZE = "a size of at least 6m, such as 512m or 2g (b, k, m, g, t)";
const IDS = "uid:gid in numbers and not root, such as 65534:65534";

test.each([
  ["MCP_BRIDGE_RUNTIME", "lxc", "auto, podman or docker"],
  [
    "MCP_BRIDGE_OCI_RUNTIME",
    "-x",
    'the name or path of an OCI runtime, which cannot start with "-" or contain white space',
  ],
  [
    "MCP_BRIDGE_IMAGE",
    "--privileged",
    'the name of a container image, which cannot start with "-" or contain white space',
  ],
  [
    "MCP_BRIDGE_IMAGE",
    "a b",
    'the name of a container image, which cannot start with "-" or contain white space',
  ],
  ["MCP_BRIDGE_TIMEOUT", "0", SECONDS],
  ["MCP_BRIDGE_TIMEOUT", "1.5", SECONDS],
  ["MCP_BRIDGE_TIMEOUT", "30s", SECONDS],
  ["MCP_BRIDGE_MAX_TIMEOUT", "2147484", SECONDS],
  ["MCP_BRIDGE_MAX_TIMEOUT", "1e3", SECONDS],
  ["MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT", "-1", SECONDS],
  ["MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT", "0", SECONDS],
  ["MCP_BRIDGE_MEMORY", "12q", SIZE],
  ["MCP_BRIDGE_MEMORY", "5m", SIZE],
  ["MCP_BRIDGE_MEMORY", "-1", SIZE],
  ["MCP_BRIDGE_MEMORY", "99999999999t", SIZE],
  ["MCP_BRIDGE_PIDS", "0", "a whole number of processes from 3 to 4194304"],
  ["MCP_BRIDGE_PIDS", "2", "a whole number of processes from 3 to 4194304"],
  ["MCP_BRIDGE_CPUS", "0.009", "a number of at least 0.01, such as 2 or 0.5"],
  ["MCP_BRIDGE_ADD_SERVERS", "a,,b", "server names or globs with commas between, such as notes,git*"],
  ["MCP_BRIDGE_CPUS", "0", "a number of at least 0.01, such as 2 or 0.5"],
  ["MCP_BRIDGE_CPUS", "two", "a number of at least 0.01, such as 2 or 0.5"],
  ["MCP_BRIDGE_CONTAINER_USER", "nobody", IDS],
  ["MCP_BRIDGE_CONTAINER_USER", "1000", IDS],
  ["MCP_BRIDGE_CONTAINER_USER", "0:0", IDS],
  ["MCP_BRIDGE_CONTAINER_USER", "00:1000", IDS],
  ["MCP_BRIDGE_CONTAINER_USER", "1:4294967295", IDS],
  ["MCP_BRIDGE_MAX_OUTPUT", "64k", "a whole number of characters from 1 to 16777216"],
  ["MCP_BRIDGE_LOG_LEVEL", "verbose", "DEBUG, INFO, WARNING or ERROR"],
  ["MCP_BRIDGE_LOG_FORMAT", "xml", "text or json"],
  ["MCP_BRIDGE_ALLOW_SELF_SERVER", "maybe", "1, true, 0 or false"],
  ["MCP_BRIDGE_DENY_TOOLS", "a,,b", "tools or globs with commas between, such as delete_*,notes/read_*"],
  ["MCP_BRIDGE_READ_ONLY", "yes", "1, true, 0 or false"],
  ["MCP_BRIDGE_MAX_CALLS_PER_RUN", "0", "a whole number of calls from 1 to 1000000000"],
  ["MCP_BRIDGE_AUDIT", "/a\0b", "1, true, 0, false or a path"],
  ["MCP_BRIDGE_AUDIT_ARGUMENTS", "all", "hash or masked"],
  ["MCP_SERVERS_CONFIG", "/a\0b", "a path"],
])("rejects %s=%j", (name, value, expected) => {
  const error = faultOf({ HOME, [name]: value });

  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.message).toBe(`${name} is ${JSON.stringify(value)}: expected ${expected}`);
  expect(error.hint).toBe(`Correct it, or unset ${name} for the default.`);
});

test("names every variable that is wrong", () => {
  const error = faultOf({ MCP_BRIDGE_PIDS: "x", MCP_BRIDGE_CPUS: "y" });

  expect(error.message).toBe(
    'MCP_BRIDGE_PIDS is "x": expected a whole number of processes from 3 to 4194304\n' +
      'MCP_BRIDGE_CPUS is "y": expected a number of at least 0.01, such as 2 or 0.5',
  );
  expect(error.hint).toBe("Correct it, or unset MCP_BRIDGE_PIDS and MCP_BRIDGE_CPUS for the default.");
});

test("rejects a timeout above the maximum", () => {
  expect(faultOf({ MCP_BRIDGE_TIMEOUT: "121" }).message).toBe(
    'MCP_BRIDGE_TIMEOUT is "121": expected at most MCP_BRIDGE_MAX_TIMEOUT, which is 120',
  );
});

test("puts overrides above the environment", () => {
  const config = loadConfig({ MCP_BRIDGE_PIDS: "no number", HOME }, { MCP_BRIDGE_PIDS: "64" });

  expect(config.pids).toBe(64);
  expect(faultOf({ HOME }, { MCP_BRIDGE_PIDS: "0" }).message).toStartWith('--pids is "0"');
});

test("names the flag that is wrong", () => {
  expect(faultOf({ HOME }, { MCP_BRIDGE_MAX_CALLS_PER_RUN: "many" })).toMatchObject({
    message: '--max-calls is "many": expected a whole number of calls from 1 to 1000000000',
    hint: "Correct it, or leave out --max-calls for the default.",
  });
});

test("adds up what is denied, and takes what is allowed from the first that says it", () => {
  const names = ["MCP_BRIDGE_ALLOW_SERVERS", "MCP_BRIDGE_DENY_SERVERS"] as const;
  const env = Object.fromEntries(names.map((name) => [name, "env"]));
  const { servers } = loadConfig(
    { HOME, ...env },
    Object.fromEntries(names.map((name) => [name, "flag"])),
  ).policy;

  expect(servers).toEqual({
    allow: { globs: ["flag"], where: "--allow-server" },
    deny: [
      { glob: "flag", where: "--deny-server" },
      { glob: "env", where: "MCP_BRIDGE_DENY_SERVERS" },
    ],
  });
});

test("keeps the whole environment for the engine, without what is not set", () => {
  expect(loadConfig({ HOME, A: "1", B: undefined }).env).toEqual({ HOME, A: "1" });
});

describe("paths", () => {
  test.each([
    [{ HOME: "/home/u" }, "/home/u"],
    [{ HOME: "" }, homedir()],
    [{}, homedir()],
  ])("finds the home of %j", (env, home) => {
    expect(resolveHomeDir(env)).toBe(home);
  });

  test("HOST-14: takes no relative home, which would be another one in each folder", () => {
    expect(() => resolveHomeDir({ HOME: "relative" })).toThrow(
      'HOME is "relative": expected an absolute path',
    );
  });
});

describe("the depth of a bridge", () => {
  test.each([
    [{}, 0, "1"],
    [{ SANDPY_DEPTH: "" }, 0, "1"],
    [{ SANDPY_DEPTH: "0" }, 0, "1"],
    [{ SANDPY_DEPTH: "2" }, 2, "3"],
    [{ SANDPY_DEPTH: "-1" }, 1, "2"],
    [{ SANDPY_DEPTH: "x" }, 1, "2"],
  ])("counts in %j", (env, depth, childDepth) => {
    expect(bridgeDepth(env)).toBe(depth);
    expect(childDepthVariables(env)).toEqual({ SANDPY_DEPTH: childDepth });
  });
});
