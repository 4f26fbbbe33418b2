import type { ConfigOverrides } from "../config/load.ts";

/** The flag of every command that may start servers. */
export const TRUST_PROJECT = {
  type: "boolean",
  description: "let the servers of this project's files run, this time",
} as const;

/** What the flag sets. */
export function trustOverride(flag: boolean | undefined): ConfigOverrides {
  return flag === true ? { MCP_BRIDGE_TRUST_PROJECT: "1" } : {};
}
