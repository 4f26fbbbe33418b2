import type { ArgsDef } from "citty";
import type { ConfigOverrides } from "../config/load.ts";
import { SETTING_NAMES, SETTINGS } from "../config/schema.ts";
import { LIST, usage } from "./arguments.ts";

const MAX_SECONDS = 2_147_483; // timers hold 32 bits of milliseconds

/** The flags of commands that run code. Each sets a setting; which one is in that setting's row. */
export const SETTING_FLAGS = {
  config: { type: "string", valueHint: "file", description: "read settings from this file" },
  image: { type: "string", valueHint: "name", description: "the container image" },
  memory: { type: "string", valueHint: "size", description: "memory, such as 512m or 2g" },
  cpus: { type: "string", valueHint: "number", description: "CPU cores, such as 2 or 0.5" },
  pids: { type: "string", valueHint: "count", description: "processes and threads" },
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

/** Those of `sandpy serve` alone. */
export const HTTP_FLAGS = {
  host: { type: "string", valueHint: "address", description: "listen here; default 127.0.0.1" },
  port: {
    type: "string",
    valueHint: "number",
    description: "listen on this port; default 8848, 0: any free one",
  },
  path: { type: "string", valueHint: "path", description: "where MCP is; default /mcp" },
  "allow-host": { type: "string", valueHint: LIST, description: "further names by which clients reach it" },
  "allow-origin": {
    type: "string",
    valueHint: LIST,
    description: "web pages that may use it: their origins",
  },
  "token-file": { type: "string", valueHint: "file", description: 'who may use it: lines of "name token"' },
  issuer: {
    type: "string",
    valueHint: "url",
    description: "accept access tokens (JWT) of this OAuth issuer",
  },
  audience: { type: "string", valueHint: "text", description: "that were made out to this audience" },
  jwks: { type: "string", valueHint: "url", description: "and are signed by these keys" },
  scope: { type: "string", valueHint: LIST, description: "and are good for these scopes" },
  "public-url": {
    type: "string",
    valueHint: "url",
    description: "its address as clients know it, behind a proxy",
  },
  grace: {
    type: "string",
    valueHint: "seconds",
    description: "what runs at SIGTERM may go on so long; default 5",
  },
  dashboard: { type: "boolean", description: "show what runs at /, in a browser" },
  admin: {
    type: "string",
    valueHint: LIST,
    description: "there, these tokens' owners see the sessions of all",
  },
  "metrics-open": { type: "boolean", description: "show /metrics also to those without a token" },
  "insecure-no-auth": { type: "boolean", description: "let everybody in who reaches the address" },
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

/** The whole number of seconds that a flag was given. Throws `USAGE`. */
export function parseSeconds(flag: string, text: string): number {
  const seconds = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_SECONDS) return seconds;
  throw usage(
    `--${flag} is ${JSON.stringify(text)}: expected a whole number of seconds from 1 to ${MAX_SECONDS}`,
  );
}
