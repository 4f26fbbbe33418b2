import * as z from "zod";
import { matchesUrl } from "./match-url.ts";
import { isObject, type PolicySubject } from "./policy.ts";

const entrySchema = z.union([
  z.strictObject({ serverName: z.string().min(1) }),
  z.strictObject({ serverUrl: z.string().min(1) }),
  z.strictObject({ serverCommand: z.array(z.string()).min(1) }),
]);

/** One entry of `allowedMcpServers` or `deniedMcpServers`: a name, a pattern of URLs, or a command with its arguments. */
export type ServerRule = z.infer<typeof entrySchema>;

/** A list of such entries with the place that says it, such as `"deniedMcpServers" in /etc/x.json`. */
export interface ServerList {
  readonly place: string;
  readonly rules: readonly ServerRule[];
  /** Entries that are none of these; who reads the list decides what that means. */
  readonly faulty: number;
}

/**
 * The list under `key`; `undefined` where there is none. A list may stand in text, as policies of an editor have it,
 * and under `overridable`. A value that is no list at all counts as one faulty entry.
 */
export function parseServerList(value: unknown, place: string): ServerList | undefined {
  const list = unwrap(value);
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list)) return { place, rules: [], faulty: 1 };
  const parsed = list.map((entry) => entrySchema.safeParse(entry));
  const rules = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return { place, rules, faulty: parsed.length - rules.length };
}

function unwrap(value: unknown): unknown {
  if (isObject(value) && "overridable" in value) return value["overridable"];
  if (typeof value !== "string") return value;
  try {
    return value.trim() === "" ? undefined : (JSON.parse(value) as unknown);
  } catch {
    return value; // no list: the caller counts it as a fault
  }
}

/** Whether an entry means this server. */
export function matchesRule(rule: ServerRule, { origin, transport }: PolicySubject): boolean {
  if ("serverName" in rule) return rule.serverName === origin.key;
  if ("serverUrl" in rule) return transport.kind === "remote" && matchesUrl(rule.serverUrl, transport.url);
  if (transport.kind !== "stdio") return false;
  const words = [transport.command, ...transport.args];
  return (
    rule.serverCommand.length === words.length && words.every((word, at) => word === rule.serverCommand[at])
  );
}

/** The first list with an entry that means this server. */
export function findMatch(lists: readonly ServerList[], server: PolicySubject): ServerList | undefined {
  return lists.find(({ rules }) => rules.some((rule) => matchesRule(rule, server)));
}
