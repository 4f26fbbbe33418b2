import type { LogFormat, LogLevel } from "../core/log.ts";
import type { HttpSettings } from "./http.ts";
import type { AccessPolicy, AuditSettings } from "./policy.ts";
import type { TracingSettings } from "./tracing.ts";

/** A folder or file of the host that sandboxes see. */
export interface Mount {
  /** On the host, absolute and without links. */
  readonly source: string;
  /** In the sandbox, absolute. */
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** The bridge's own settings, checked and in their units. */
export interface Config {
  /** `MCP_BRIDGE_RUNTIME` */
  readonly engine: "auto" | "podman" | "docker";
  /** `MCP_BRIDGE_OCI_RUNTIME`; `undefined` for the engine's own, or another that works. */
  readonly ociRuntime: string | undefined;
  /** `MCP_BRIDGE_IMAGE` */
  readonly image: string;
  /** `MCP_BRIDGE_TIMEOUT`, given in seconds. */
  readonly timeoutMs: number;
  /** `MCP_BRIDGE_MAX_TIMEOUT`, given in seconds. */
  readonly maxTimeoutMs: number;
  /** `MCP_BRIDGE_MEMORY`, such as `512m`. */
  readonly memoryBytes: number;
  /** `MCP_BRIDGE_PIDS` */
  readonly pids: number;
  /** `MCP_BRIDGE_CPUS` */
  readonly cpus: number | undefined;
  /** What a job of the command line asks to see of the host; absent: nothing. No setting says it. */
  readonly mounts?: readonly Mount[];
  /** `MCP_BRIDGE_CONTAINER_USER`, `uid:gid`. */
  readonly containerUser: string;
  /** `MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT`, given in seconds. */
  readonly idleTimeoutMs: number;
  /** `MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT`, given in seconds: for upstream servers. */
  readonly upstreamIdleTimeoutMs: number;
  /** `MCP_BRIDGE_STATE_DIR`, absolute. */
  readonly stateDir: string;
  /** `MCP_BRIDGE_PROJECTS_QUOTA`, such as `64m`: what is kept of one user, memories included. */
  readonly projectsQuotaBytes: number;
  /** How many sessions there may be, of all callers and of one, and when one that is not used ends. */
  readonly sessions: { readonly total: number; readonly perCaller: number; readonly ttlMs: number };
  /** `MCP_BRIDGE_MAX_OUTPUT`: characters kept of each stream. */
  readonly maxOutputChars: number;
  /** `MCP_BRIDGE_OUTPUT_MODE` */
  readonly outputMode: "compact" | "toon";
  /** `MCP_BRIDGE_STATELESS`: every execution gets a fresh Python. */
  readonly stateless: boolean;
  /** `MCP_BRIDGE_LOG_LEVEL` */
  readonly logLevel: LogLevel;
  /** `MCP_BRIDGE_LOG_FORMAT` */
  readonly logFormat: LogFormat;
  /** `MCP_SERVERS_CONFIG`: an absolute path, or JSON that begins with `{` or `[`. */
  readonly serversConfig: string | undefined;
  /** `MCP_BRIDGE_ALLOW_SELF_SERVER`: a configured server may be the bridge itself. */
  readonly allowSelfServer: boolean;
  /** `MCP_BRIDGE_TRUST_PROJECT`: servers of project files may run without having been trusted. */
  readonly trustProject: boolean;
  /** How many bridges stand above this one; 0 when a person or a client started it. */
  readonly depth: number;
  /** `MCP_BRIDGE_ADD_SERVERS`: names or globs of the servers that are switched off and that Python may add to its session. */
  readonly addServers: readonly string[];
  /** `MCP_BRIDGE_ALLOW_*`, `MCP_BRIDGE_DENY_*`, `MCP_BRIDGE_ASK`, `MCP_BRIDGE_READ_ONLY`, … */
  readonly policy: AccessPolicy;
  /** `MCP_BRIDGE_AUDIT`, `MCP_BRIDGE_AUDIT_ARGUMENTS`; `undefined`: calls are not written down. */
  readonly audit: AuditSettings | undefined;
  /** `OTEL_*`; `undefined`: no traces are wanted. */
  readonly tracing: TracingSettings | undefined;
  /** `MCP_BRIDGE_HTTP_*`: for `sandpy serve --http` alone. */
  readonly http: HttpSettings;
  /** The user's home directory, absolute. */
  readonly homeDir: string;
  /** Where the bridge runs: project files of clients are looked for from here upwards. Absolute. */
  readonly projectDir: string;
  readonly platform: NodeJS.Platform;
  /** What the administrator's folders are below of: `/`, and another one only in tests. */
  readonly systemRoot: string;
  /** Our own folders: settings, what must not be lost (trust, sign-ins), and what can be made again. Absolute. */
  readonly configDir: string;
  readonly dataDir: string;
  readonly cacheDir: string;
  /** The environment of the bridge, for children, without what is secret: engine clients get all of it, upstream servers a safe part. */
  readonly env: Readonly<Record<string, string>>;
}
