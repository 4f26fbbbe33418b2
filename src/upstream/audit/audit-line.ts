import { hash } from "node:crypto";
import type { SessionRef } from "../../core/bridge-events.ts";
import { escapeUnprintable } from "../../core/escaped-text.ts";
import { SECRET_NAME } from "../../core/secrets.ts";
import type { Mask } from "../mask.ts";
import { isPlainObject, maskArguments } from "../masked-arguments.ts";

/** What is longer was given by a server that wants older lines out of the file. */
const MAX_NAME_CHARS = 1000;
const MASKING = { maxTextChars: 300, secretName: SECRET_NAME };

/** How a call ended. `refused`: by a policy, before the server heard of it. */
export type AuditOutcome = "ok" | "error" | "refused" | "timeout" | "cancelled";

/** By which rule the user was to be asked before a call, and what came of it. */
export interface ApprovalRecord {
  readonly rule: string;
  readonly answer: string;
}

/** One call of an upstream server. */
export interface AuditEntry {
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** Which session of which bridge, and whose. */
  readonly session: SessionRef;
  /** Which request of the client; `undefined`: none, as for {@link executionId}. */
  readonly requestId: string | undefined;
  /** Which execution of the session; `undefined`: none, code in the background called. */
  readonly executionId: string | undefined;
  readonly server: string;
  /** The method of the protocol. */
  readonly method: string;
  /** For `tools/call`: the tool's own name, or what it was called where there is no such tool. */
  readonly tool: string | undefined;
  readonly arguments: unknown;
  readonly outcome: AuditOutcome;
  /** The code of the failure. */
  readonly code: string | undefined;
  readonly ms: number;
  /** Where the user had to be asked: the rule that says so, and how that went. */
  readonly approval?: ApprovalRecord | undefined;
  /** Hides the server's own secrets. */
  readonly mask: Mask;
}

/** The line for a call, with the line's end. Never throws, whatever the arguments are. */
export function renderAuditLine(entry: AuditEntry, how: "hash" | "masked"): string {
  const { at, session, requestId, executionId, server, method, tool, outcome, code, ms, approval } = entry;
  const line = JSON.stringify({
    time: new Date(at).toISOString(),
    caller: session.caller.id,
    session: session.sessionId,
    request: requestId,
    execution: executionId,
    server: cut(server),
    method: tool === undefined ? method : undefined,
    tool: tool === undefined ? undefined : cut(tool),
    ...describeArguments(entry, how),
    outcome,
    code,
    asked: approval?.rule,
    answer: approval?.answer,
    ms: Math.round(ms * 100) / 100,
  });
  return `${escapeUnprintable(line)}\n`; // who reads it does so in a terminal
}

function cut(name: string): string {
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS).toWellFormed()}…` : name;
}

function describeArguments({ arguments: args, mask }: AuditEntry, how: "hash" | "masked") {
  try {
    if (how === "masked") return { arguments: maskArguments(args, mask, MASKING) };
    return { argumentsHash: hash("sha256", canonicalJson(args), "hex") };
  } catch {
    return {}; // nested deeper than the stack has room for: no server gets that either
  }
}

/** JSON without white space whose keys are sorted, so that the same arguments always have the same hash. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isPlainObject(value)) return JSON.stringify(value) ?? "null";
  const pairs = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${pairs.join(",")}}`;
}
