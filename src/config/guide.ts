import { MASK, maskUrl } from "../core/secrets.ts";
import type { Config } from "./config.ts";
import type { SettingName } from "./schema.ts";

/** A value as the configuration file would have it; `null` where there is none. */
export type ShownValue = string | number | boolean | readonly string[] | null;

/** What people are told of a setting. */
export interface Guide {
  readonly about: string;
  /** The value that counts, without secrets. */
  readonly value: (config: Config) => ShownValue;
  /** One that makes sense, where there is no default. */
  readonly example?: ShownValue;
}

const seconds = (ms: number) => ms / 1000;
const url = (address: string | undefined) => (address === undefined ? null : maskUrl(address));

/** One row for each setting, in the order of the settings' own table. */
export const GUIDE: Readonly<Record<SettingName, Guide>> = {
  MCP_BRIDGE_RUNTIME: {
    about: "The container engine that runs Python: auto, podman or docker.",
    value: ({ engine }) => engine,
  },
  MCP_BRIDGE_OCI_RUNTIME: {
    about: "The OCI runtime of the engine, by its name there or its path.",
    value: ({ ociRuntime }) => ociRuntime ?? null,
    example: "crun",
  },
  MCP_BRIDGE_IMAGE: { about: "The image that Python runs in.", value: ({ image }) => image },
  MCP_BRIDGE_TIMEOUT: {
    about: "Seconds that code may run where its call does not say.",
    value: ({ timeoutMs }) => seconds(timeoutMs),
  },
  MCP_BRIDGE_MAX_TIMEOUT: {
    about: "Seconds that a call may ask for at most.",
    value: ({ maxTimeoutMs }) => seconds(maxTimeoutMs),
  },
  MCP_BRIDGE_MEMORY: {
    about: "Memory of a sandbox: 512m, 2g, or bytes.",
    value: ({ memoryBytes }) => renderSize(memoryBytes),
  },
  MCP_BRIDGE_PIDS: { about: "Processes and threads of a sandbox.", value: ({ pids }) => pids },
  MCP_BRIDGE_CPUS: {
    about: "Processors of a sandbox, such as 0.5; without it there is no limit.",
    value: ({ cpus }) => cpus ?? null,
    example: 2,
  },
  MCP_BRIDGE_CONTAINER_USER: {
    about: "Who Python is in the container: uid:gid, not root.",
    value: ({ containerUser }) => containerUser,
  },
  MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: {
    about: "Seconds after which a sandbox that nobody uses ends.",
    value: ({ idleTimeoutMs }) => seconds(idleTimeoutMs),
  },
  MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT: {
    about: "Seconds after which a server that nobody calls ends.",
    value: ({ upstreamIdleTimeoutMs }) => seconds(upstreamIdleTimeoutMs),
  },
  MCP_BRIDGE_MAX_SESSIONS: {
    about: "Sessions of all callers together.",
    value: ({ sessions }) => sessions.total,
  },
  MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: {
    about: "Sessions of one caller.",
    value: ({ sessions }) => sessions.perCaller,
  },
  MCP_BRIDGE_SESSION_TTL: {
    about: "Seconds after which a session that nobody uses is forgotten.",
    value: ({ sessions }) => seconds(sessions.ttlMs),
  },
  MCP_BRIDGE_STATE_DIR: {
    about: "The folder of your own server files and of what Python keeps.",
    value: ({ stateDir }) => stateDir,
  },
  MCP_BRIDGE_PROJECTS_QUOTA: {
    about: "What Python may keep there: 64m, 1g, or bytes.",
    value: ({ projectsQuotaBytes }) => renderSize(projectsQuotaBytes),
  },
  MCP_BRIDGE_MAX_OUTPUT: {
    about: "Characters of each stream that a result keeps.",
    value: ({ maxOutputChars }) => maxOutputChars,
  },
  MCP_BRIDGE_OUTPUT_MODE: {
    about: "How results are written: compact or toon.",
    value: ({ outputMode }) => outputMode,
  },
  MCP_BRIDGE_STATELESS: {
    about: "Whether each call gets a fresh Python.",
    value: ({ stateless }) => stateless,
  },
  MCP_BRIDGE_LOG_LEVEL: {
    about: "What is logged: DEBUG, INFO, WARNING or ERROR.",
    value: ({ logLevel }) => logLevel,
  },
  MCP_BRIDGE_LOG_FORMAT: {
    about: "How the log is written: text, or json with an object in each line.",
    value: ({ logFormat }) => logFormat,
  },
  MCP_BRIDGE_ALLOW_SELF_SERVER: {
    about: "Whether a server may be Sandpy itself.",
    value: ({ allowSelfServer }) => allowSelfServer,
  },
  MCP_BRIDGE_TRUST_PROJECT: {
    about: "Whether servers of a project's files may run without sandpy trust.",
    value: ({ trustProject }) => trustProject,
  },
  MCP_BRIDGE_ADD_SERVERS: {
    about: "Servers that are switched off and that Python may add to its session; globs.",
    value: ({ addServers }) => addServers,
  },
  MCP_BRIDGE_ALLOW_SERVERS: {
    about: "Only these servers may be used; globs. An empty list allows none.",
    value: ({ policy }) => policy.servers.allow?.globs ?? null,
    example: ["notes", "git*"],
  },
  MCP_BRIDGE_DENY_SERVERS: {
    about: "These servers may not be used; globs.",
    value: ({ policy }) => policy.servers.deny.map(({ glob }) => glob),
  },
  MCP_BRIDGE_ALLOW_TOOLS: {
    about: "Only these tools may be called: tool or server/tool; globs. An empty list allows none.",
    value: ({ policy }) => policy.tools.allow?.globs ?? null,
    example: ["read_*", "git*/list_*"],
  },
  MCP_BRIDGE_DENY_TOOLS: {
    about: "These tools may not be called: tool or server/tool; globs.",
    value: ({ policy }) => policy.tools.deny.map(({ glob }) => glob),
  },
  MCP_BRIDGE_ASK: {
    about:
      "You are asked before calls of these tools; the word destructive stands for all that may change things.",
    value: ({ policy }) => policy.tools.ask.map(({ glob }) => glob),
  },
  MCP_BRIDGE_APPROVAL_TIMEOUT: {
    about: "Seconds that a run waits for your answers in all.",
    value: ({ policy }) => seconds(policy.approvalTimeoutMs),
  },
  MCP_BRIDGE_READ_ONLY: {
    about: "Whether only tools may be called that say that they only read.",
    value: ({ policy }) => policy.readOnly !== undefined,
  },
  MCP_BRIDGE_MAX_CALLS_PER_RUN: {
    about: "Calls to servers that one run may make.",
    value: ({ policy }) => policy.maxCalls.count,
  },
  MCP_BRIDGE_AUDIT: {
    about: "Whether what is called is written down, or the file for it.",
    value: ({ audit }) => audit?.file ?? false,
  },
  MCP_BRIDGE_AUDIT_ARGUMENTS: {
    about: "Whether arguments stand there by their hash or, masked, themselves: hash or masked.",
    value: ({ audit }) => audit?.arguments ?? null,
    example: "hash",
  },
  MCP_BRIDGE_HTTP_HOST: {
    about: "The address that sandpy serve --http listens on.",
    value: ({ http }) => http.host,
  },
  MCP_BRIDGE_HTTP_PORT: { about: "Its port; 0 is any that is free.", value: ({ http }) => http.port },
  MCP_BRIDGE_HTTP_PATH: { about: "Where MCP is.", value: ({ http }) => http.path },
  MCP_BRIDGE_HTTP_ALLOW_HOSTS: {
    about: "Further names by which clients reach it.",
    value: ({ http }) => http.allowHosts,
  },
  MCP_BRIDGE_HTTP_ALLOW_ORIGINS: {
    about: "Origins of web pages that may use it.",
    value: ({ http }) => http.allowOrigins,
  },
  MCP_BRIDGE_HTTP_TOKEN: {
    about: "Tokens that let in, each with its owner's name.",
    value: ({ http }) => (http.tokens.length === 0 ? null : http.tokens.map(({ name }) => `${name}:${MASK}`)),
  },
  MCP_BRIDGE_HTTP_TOKEN_FILE: {
    about: "A file of tokens: lines of name and token.",
    value: ({ http }) => http.tokenFile ?? null,
    example: "tokens",
  },
  MCP_BRIDGE_HTTP_ISSUER: {
    about: "The OAuth issuer whose access tokens are accepted.",
    value: ({ http }) => url(http.oauth?.issuer),
    example: "https://login.example.com",
  },
  MCP_BRIDGE_HTTP_AUDIENCE: {
    about: "Whom those have to be made out to; without it, the public address.",
    value: ({ http }) => http.oauth?.audience ?? null,
    example: "sandpy",
  },
  MCP_BRIDGE_HTTP_JWKS: {
    about: "Where the issuer's keys are, if its metadata does not say.",
    value: ({ http }) => url(http.oauth?.jwks),
    example: "https://login.example.com/jwks",
  },
  MCP_BRIDGE_HTTP_SCOPES: {
    about: "Scopes that an access token needs.",
    value: ({ http }) => http.oauth?.scopes ?? null,
    example: ["sandpy"],
  },
  MCP_BRIDGE_HTTP_PUBLIC_URL: {
    about: "The address as clients know it, behind a proxy.",
    value: ({ http }) => url(http.publicUrl),
    example: "https://tools.example.com/mcp",
  },
  MCP_BRIDGE_HTTP_GRACE: {
    about: "Seconds that what runs may go on at the end.",
    value: ({ http }) => seconds(http.graceMs),
  },
  MCP_BRIDGE_HTTP_DASHBOARD: {
    about: "Whether a page shows what runs.",
    value: ({ http }) => http.dashboard,
  },
  MCP_BRIDGE_HTTP_ADMINS: {
    about: "Owners of tokens who see the sessions of all there.",
    value: ({ http }) => http.admins,
  },
  MCP_BRIDGE_HTTP_METRICS_OPEN: {
    about: "Whether metrics are shown also to those without a token.",
    value: ({ http }) => http.metricsOpen,
  },
  MCP_BRIDGE_HTTP_INSECURE_NO_AUTH: {
    about: "Whether everybody is let in who reaches the address.",
    value: ({ http }) => http.insecureNoAuth,
  },
  MCP_BRIDGE_CONFIG: { about: "The configuration file.", value: () => null },
  MCP_SERVERS_CONFIG: {
    about: "One more file of servers, or its text as JSON.",
    value: ({ serversConfig }) =>
      serversConfig === undefined ? null : /^[{[]/.test(serversConfig) ? `${MASK} (JSON)` : serversConfig,
    example: "servers.json",
  },
};

/** In the largest unit that it is a whole number of. */
function renderSize(bytes: number): string | number {
  const units = [
    ["g", 3],
    ["m", 2],
    ["k", 1],
  ] as const;
  const unit = units.find(([, power]) => bytes % 1024 ** power === 0);
  return unit === undefined ? bytes : `${bytes / 1024 ** unit[1]}${unit[0]}`;
}
