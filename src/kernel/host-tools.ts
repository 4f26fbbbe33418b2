/** One usable server as the sandbox names it. `alias` is a Python identifier: the sandbox calls it `mcp_<alias>`. */
export interface ServerName {
  readonly name: string;
  readonly alias: string;
  /** One line, at most 200 characters. */
  readonly description: string;
}

/** One usable server with what is known of it. */
export interface ServerSummary extends ServerName {
  /** `idle` (not started yet), `connected`, or `failed` (the last start failed; the next use tries again). */
  readonly status: "idle" | "connected" | "failed";
  /** How many tools it has, as far as that is known. */
  readonly tools: number | null;
}

/** How a server that is not usable came to be so. */
export type UnusableStatus = "disabled" | "needs" | "untrusted" | "forbidden" | "self";

/** A server that discovery knows, usable or not. */
export interface KnownServer extends Omit<ServerSummary, "status"> {
  readonly status: ServerSummary["status"] | UnusableStatus;
  /** For one that is not usable: why, and what would make it so. */
  readonly reason: string | null;
}

/** One server in full. */
export interface ServerDetails extends Omit<KnownServer, "tools"> {
  /** What the server says of its own use. */
  readonly instructions: string | null;
  /** `null`: not known, since it never ran and cannot be asked now. */
  readonly tools: readonly ToolSummary[] | null;
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

/** Waits for `work`, in which a person is asked, so that no limit of time counts meanwhile. */
export type WhileAsking = <T>(work: () => Promise<T>) => Promise<T>;

/** A `CallToolResult` as the server gave it. */
export type ToolResult = Readonly<Record<string, unknown>>;

/** Words to look for; `limit` bounds what comes back. */
export interface ServerQuery {
  readonly query: string;
  readonly limit: number;
}

/** The best matches first; `total` is how many there are in all. */
export interface ServerMatches {
  readonly servers: readonly KnownServer[];
  readonly total: number;
  /** How many servers were looked through. */
  readonly searched: number;
}

/** Words to look for in the tools of all usable servers, or of one. */
export interface ToolQuery extends ServerQuery {
  /** A name or an alias. */
  readonly server: string | null;
}

export interface ToolMatch {
  readonly server: string;
  readonly serverAlias: string;
  readonly tool: ToolSummary;
}

/** The best matches first; `total` is how many there are in all. */
export interface ToolMatches {
  readonly matches: readonly ToolMatch[];
  readonly total: number;
  /** How many tools were looked through. */
  readonly searched: number;
  /** How many servers there are whose tools nobody knows, and how many of those are being asked. */
  readonly unknown: number;
  /** The names of a few of them. */
  readonly unknownServers: readonly string[];
  readonly learning: number;
  /** Where nothing matches: words that do. */
  readonly suggestions: readonly string[];
}

/** A resource, template or prompt as the server described it. */
export type RawEntry = Readonly<Record<string, unknown>>;

/** `complete` is false where a bound cut the list. */
export interface ResourceList {
  readonly resources: readonly RawEntry[];
  readonly templates: readonly RawEntry[];
  readonly complete: boolean;
}

export interface PromptList {
  readonly prompts: readonly RawEntry[];
  readonly complete: boolean;
}

/** A prompt as the sandbox asks for it. MCP allows text alone as arguments. */
export interface PromptRequest {
  readonly server: string;
  readonly prompt: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/**
 * What Python may ask of the host. `upstream` implements it; every method rejects with a BridgeError of an
 * `UPSTREAM_*` code and stops early when `signal` aborts. Servers and tools are given by name or alias; a server that is
 * not connected is, on first use, unless a method says otherwise.
 */
export interface HostTools {
  /** An execution begins: what it may ask of servers is counted anew. */
  beginRun(): void;
  /** All usable servers, without starting any. Asynchronous, since the first call reads the configuration files. */
  servers(): Promise<readonly ServerName[]>;
  /** As `servers`, with what is known of each; the first call reads what is kept on disk. */
  listServers(signal: AbortSignal): Promise<readonly ServerSummary[]>;
  /** Connects a server if it is not connected. Unknown names are refused with the known ones listed. */
  connect(server: string, signal: AbortSignal): Promise<void>;
  tools(server: string, signal: AbortSignal): Promise<readonly ToolSummary[]>;
  /** As `tools`, but what is known of a server that does not run is enough. */
  toolDocs(server: string, signal: AbortSignal): Promise<readonly ToolSummary[]>;
  /** Rejects as a call of the tool would that is not there or may not be used; calls nothing. */
  checkTool(server: string, tool: string, signal: AbortSignal): Promise<void>;
  /**
   * Resolves with an `isError` result too; who calls decides what that means. Where the user is to be asked first, that
   * is done by `whileAsking`; rejects with `APPROVAL_DENIED` where the user is against it, or cannot be asked.
   */
  callTool(call: ToolCall, signal: AbortSignal, whileAsking?: WhileAsking): Promise<ToolResult>;
  /** A server that discovery knows, usable or not. One that is usable and was never asked for its tools is connected. */
  describeServer(server: string, signal: AbortSignal): Promise<ServerDetails>;
  /** Looks through all servers that discovery knows, without starting any. No words match every server. */
  findServers(query: ServerQuery, signal: AbortSignal): Promise<ServerMatches>;
  /** Searches the tools that are known, those of servers that do not run included. No words match every tool. */
  searchTools(query: ToolQuery, signal: AbortSignal): Promise<ToolMatches>;
  /** Connects a server, and makes one that is switched off usable for this session where the user permits that. */
  addServer(server: string, signal: AbortSignal): Promise<ServerDetails>;
  /** Empty for a server without resources. */
  listResources(server: string, signal: AbortSignal): Promise<ResourceList>;
  /** A `ReadResourceResult` as the server gave it. */
  readResource(server: string, uri: string, signal: AbortSignal): Promise<RawEntry>;
  listPrompts(server: string, signal: AbortSignal): Promise<PromptList>;
  /** A `GetPromptResult` as the server gave it. */
  getPrompt(request: PromptRequest, signal: AbortSignal): Promise<RawEntry>;
}
