import { createHash } from "node:crypto";
import type { SessionRef } from "../../core/bridge-events.ts";
import { MASK, maskWord, SECRET_NAME } from "../../core/secrets.ts";
import type { Mask } from "../mask.ts";

const MAX_TEXT_CHARS = 300;
const MAX_ITEMS = 50;
const MAX_DEPTH = 8;
/** Of all masked arguments of one call together. */
const MAX_VALUES = 500;

/** How a call ended. `refused`: by a policy, before the server heard of it. */
export type AuditOutcome = "ok" | "error" | "refused" | "timeout" | "cancelled";

/** One call of an upstream server. */
export interface AuditEntry {
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** Which session of which bridge, and whose. */
  readonly session: SessionRef;
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
  /** Hides the server's own secrets. */
  readonly mask: Mask;
}

/** The line for a call, with the line's end. Never throws, whatever the arguments are. */
export function renderAuditLine(entry: AuditEntry, how: "hash" | "masked"): string {
  const { at, session, executionId, server, method, tool, outcome, code, ms } = entry;
  return `${JSON.stringify({
    time: new Date(at).toISOString(),
    caller: session.caller.id,
    session: session.sessionId,
    ...(executionId === undefined ? {} : { execution: executionId }),
    server,
    ...(tool === undefined ? { method } : { tool }),
    ...describeArguments(entry, how),
    outcome,
    ...(code === undefined ? {} : { code }),
    ms: Math.round(ms * 100) / 100,
  })}\n`;
}

function describeArguments({ arguments: args, mask }: AuditEntry, how: "hash" | "masked") {
  try {
    if (how === "masked") return { arguments: maskValue(args, mask, 0, { values: MAX_VALUES }) };
    return { argumentsHash: createHash("sha256").update(canonicalJson(args)).digest("hex") };
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

/** A number with more digits than a double has is an object that only `JSON.stringify` understands. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || (prototype === null && !JSON.isRawJSON(value));
}

/** The arguments without what looks like a secret, and not without end. */
function maskValue(value: unknown, mask: Mask, depth: number, left: { values: number }): unknown {
  left.values -= 1;
  if (typeof value === "string") return maskText(value, mask);
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  if (depth === MAX_DEPTH || left.values < 0) return "…";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => maskValue(item, mask, depth + 1, left));
    return value.length > MAX_ITEMS ? [...shown, `… ${value.length - MAX_ITEMS} more`] : shown;
  }
  const entries = Object.entries(value);
  const shown = entries
    .slice(0, MAX_ITEMS)
    .map(([key, inner]) => [
      maskText(key, mask),
      SECRET_NAME.test(key) ? MASK : maskValue(inner, mask, depth + 1, left),
    ]);
  if (entries.length > MAX_ITEMS) shown.push(["…", `${entries.length - MAX_ITEMS} more`]);
  return Object.fromEntries(shown);
}

function maskText(text: string, mask: Mask): string {
  // Cut after hiding, or the beginning of a secret would stay.
  const masked = mask(text);
  const hidden = masked
    .slice(0, MAX_TEXT_CHARS * 10)
    .replace(/\b(bearer|basic|token)\s+\S+/gi, `$1 ${MASK}`)
    .split(/(\s+)/)
    .map((word) => maskWord(word))
    .join("");
  return hidden.length > MAX_TEXT_CHARS || masked.length > MAX_TEXT_CHARS * 10
    ? `${hidden.slice(0, MAX_TEXT_CHARS).toWellFormed()}…`
    : hidden;
}
