import type { Dialect } from "../dialects.ts";
import { isObject } from "../formats/document.ts";
import type { ToolFilter } from "../server-definition.ts";

type Entry = Readonly<Record<string, unknown>>;

const MAX_TIMER_MS = 2_147_483_647;
const ALLOW_KEYS = [
  "enabledTools",
  "enabled_tools",
  "includeTools",
  "allowedTools",
  "available_tools",
  "tools",
];
const DENY_KEYS = ["disabledTools", "disabled_tools", "excludeTools", "blockedTools"];

/** Which tools an entry lets through. */
export function readToolFilter(entry: Entry, dialect: Dialect): ToolFilter {
  const lists = ALLOW_KEYS.map((key) => readNames(entry[key])).filter((names) => names !== undefined);
  const [first] = lists;
  const isAll = first?.includes("*") || (first?.length === 0 && dialect.emptyAllowIsAll);
  const allow = isAll ? undefined : first;
  const deny = DENY_KEYS.flatMap((key) => readNames(entry[key]) ?? []);
  return { allow, deny: dialect.allowBeatsDeny && allow !== undefined ? [] : deny };
}

/** A list of names, or a single one; `undefined` for anything else, such as the tables that Codex has in `tools`. */
function readNames(value: unknown): string[] | undefined {
  const list = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(list)) return undefined;
  return list
    .filter((name) => typeof name === "string")
    .map((name) => name.replace(/\(.*$/s, "").trim()) // Gemini may add arguments
    .filter((name) => name !== "");
}

/** How long an entry lets its server take to start, and for one call. */
export function readTimeouts(
  entry: Entry,
  dialect: Dialect,
): { readonly startMs: number | undefined; readonly callMs: number | undefined } {
  const timeout = entry["timeout"];
  const parts = isObject(timeout) ? timeout : {}; // opencode 2
  const plain = toMs(timeout, dialect.timeoutUnitMs);
  const general = plain !== undefined && plain >= dialect.minTimeoutMs ? plain : undefined;
  return {
    startMs:
      toMs(entry["startup_timeout_sec"], 1000) ??
      toMs(entry["startup_timeout_ms"], 1) ??
      toMs(entry["discoveryTimeoutMs"], 1) ??
      toMs(entry["connectionTimeout"], 1) ??
      toMs(parts["startup"], dialect.timeoutUnitMs) ??
      (dialect.timeoutOf === "start" ? general : undefined),
    callMs:
      toMs(entry["tool_timeout_sec"], 1000) ??
      toMs(entry["timeoutMs"], 1) ??
      toMs(parts["request"], dialect.timeoutUnitMs) ??
      (dialect.timeoutOf === "call" ? general : undefined),
  };
}

/** `undefined` for what is no span of time: then our own limit holds. */
function toMs(value: unknown, unitMs: Dialect["timeoutUnitMs"]): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return undefined;
  const factor = unitMs === "guess" ? (value < 1000 ? 1000 : 1) : unitMs;
  return Math.min(Math.max(Math.round(value * factor), 1), MAX_TIMER_MS);
}
