/** One upstream server as the sandbox sees it. `alias` is a Python identifier: the sandbox calls it `mcp_<alias>`. */
export interface ServerSummary {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  /** `idle` (not started yet), `connected`, or `failed` (the last start failed; the next use tries again). */
  readonly status: "idle" | "connected" | "failed";
}

/** One tool of a server. `alias` is a Python identifier, `name` what the server calls it. */
export interface ToolSummary {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
}

/** What a server claims of a tool; nothing that safety may rest on. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool call as the sandbox asks for it; `server` and `tool` are names or aliases. */
export interface ToolCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A `CallToolResult` as the server gave it. */
export type ToolResult = Readonly<Record<string, unknown>>;

/**
 * What Python may ask of the host. `upstream` implements it; every method rejects with a BridgeError of an
 * `UPSTREAM_*` code and stops early when `signal` aborts.
 */
export interface HostTools {
  /** All usable servers, without starting any. Asynchronous, since the first call reads the configuration files. */
  servers(): Promise<readonly ServerSummary[]>;
  /** Connects a server if it is not connected. Unknown names are refused with the known ones listed. */
  connect(server: string, signal: AbortSignal): Promise<void>;
  tools(server: string, signal: AbortSignal): Promise<readonly ToolSummary[]>;
  /** Resolves with an `isError` result too; who calls decides what that means. */
  callTool(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
}
