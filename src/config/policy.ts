import type { GivenSettings } from "./given.ts";

const DEFAULT_MAX_CALLS = 500;
const DEFAULT_APPROVAL_S = 300;

/** A pattern of names (`*`, `?`), and where it was set, as messages name that. */
export interface NameRule {
  readonly glob: string;
  readonly where: string;
}

/** What may be used. What is denied is denied, whatever `allow` says. */
export interface NameRules {
  /** `undefined`: everything. */
  readonly allow: { readonly globs: readonly string[]; readonly where: string } | undefined;
  readonly deny: readonly NameRule[];
}

/** What code may ask of the upstream servers, as the user's settings say. */
export interface AccessPolicy {
  readonly servers: NameRules & {
    /** Names or aliases of the servers that may be used at all, and where that was said; absent: everywhere is said enough. */
    readonly only?: { readonly names: readonly string[]; readonly where: string };
  };
  /** A pattern names tools, or a server and its tools: `server/tool`. */
  readonly tools: NameRules & {
    /** Calls that the user is asked about first. In place of a tool a pattern may have the word `destructive`. */
    readonly ask: readonly NameRule[];
  };
  /** What one execution may wait for the user in all. */
  readonly approvalTimeoutMs: number;
  /** Where it was set that only tools which only read may be called; `undefined`: it was not. */
  readonly readOnly: { readonly where: string } | undefined;
  /** Calls that one execution may make; `where` it was set, or can be. */
  readonly maxCalls: { readonly count: number; readonly where: string };
}

/** Which file says what was called, and whether with its arguments or a hash of them. */
export interface AuditSettings {
  /** Absolute. */
  readonly file: string;
  readonly arguments: "hash" | "masked";
}

export function resolvePolicy(given: GivenSettings): AccessPolicy {
  const readOnly = given.get("MCP_BRIDGE_READ_ONLY");
  const maxCalls = given.get("MCP_BRIDGE_MAX_CALLS_PER_RUN");
  return {
    servers: resolveRules(given, "MCP_BRIDGE_ALLOW_SERVERS", "MCP_BRIDGE_DENY_SERVERS"),
    tools: {
      ...resolveRules(given, "MCP_BRIDGE_ALLOW_TOOLS", "MCP_BRIDGE_DENY_TOOLS"),
      ask: resolveList(given, "MCP_BRIDGE_ASK"),
    },
    approvalTimeoutMs: (given.value("MCP_BRIDGE_APPROVAL_TIMEOUT") ?? DEFAULT_APPROVAL_S) * 1000,
    readOnly: readOnly?.value === true ? { where: readOnly.where } : undefined,
    maxCalls: {
      count: maxCalls?.value ?? DEFAULT_MAX_CALLS,
      where: maxCalls?.where ?? "MCP_BRIDGE_MAX_CALLS_PER_RUN",
    },
  };
}

function resolveRules(
  given: GivenSettings,
  allowName: "MCP_BRIDGE_ALLOW_SERVERS" | "MCP_BRIDGE_ALLOW_TOOLS",
  denyName: "MCP_BRIDGE_DENY_SERVERS" | "MCP_BRIDGE_DENY_TOOLS",
): NameRules {
  const allow = given.get(allowName);
  return {
    allow: allow === undefined ? undefined : { globs: allow.value, where: allow.where },
    deny: resolveList(given, denyName),
  };
}

function resolveList(
  given: GivenSettings,
  name: "MCP_BRIDGE_ASK" | "MCP_BRIDGE_DENY_SERVERS" | "MCP_BRIDGE_DENY_TOOLS",
): readonly NameRule[] {
  return given.all(name).flatMap(({ value, where }) => value.map((glob) => ({ glob, where })));
}
