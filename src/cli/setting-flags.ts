import type { ArgsDef } from "citty";
import type { ConfigOverrides } from "../config/load.ts";
import { SETTING_NAMES, SETTINGS } from "../config/schema.ts";
import { LIST } from "./arguments.ts";

/** The flags of commands that run code. Each sets a setting; which one is in that setting's row. */
export const SETTING_FLAGS = {
  config: { type: "string", valueHint: "file", description: "read settings from this file" },
  "trust-project": { type: "boolean", description: "let the servers of this project's files run, this time" },
  "allow-server": { type: "string", valueHint: LIST, description: "use only these MCP servers; globs" },
  "deny-server": { type: "string", valueHint: LIST, description: "do not use these MCP servers" },
  "allow-tool": {
    type: "string",
    valueHint: LIST,
    description: "call only these tools: tool or server/tool",
  },
  "deny-tool": { type: "string", valueHint: LIST, description: "do not call these tools" },
  ask: { type: "string", valueHint: LIST, description: 'ask before calls of these tools; or "destructive"' },
  "read-only": { type: "boolean", description: "call only tools that say that they only read" },
  "max-calls": { type: "string", valueHint: "count", description: "calls to servers that one run may make" },
  "no-audit": { type: "boolean", description: "do not write down which tools are called" },
} as const satisfies ArgsDef;

/** What the flags among `args` set. */
export function settingOverrides(args: Readonly<Record<string, unknown>>): ConfigOverrides {
  const pairs = SETTING_NAMES.flatMap((name) => {
    const { flag } = SETTINGS[name];
    const value = flag === undefined ? undefined : args[flag];
    if (typeof value === "string") return [[name, value] as const];
    return value === true ? [[name, flag?.startsWith("no-") ? "0" : "1"] as const] : [];
  });
  return Object.fromEntries(pairs);
}
