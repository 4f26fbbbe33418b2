import type { Config } from "../../config/config.ts";
import type { ConfigOverrides } from "../../config/load.ts";
import { usage } from "../arguments.ts";
import type { JobOptions } from "./job-options.ts";

/** Characters of each stream that a result in JSON holds; what is beyond is left out of its middle. */
const JSON_OUTPUT_CHARS = 16 * 1024 * 1024;

/** A job says nothing of itself in a log of CI, unless that is asked for by the flag or the variable. */
export function jobOverrides(
  { overrides, verbose }: JobOptions,
  env: Readonly<Record<string, string | undefined>>,
): ConfigOverrides {
  if (verbose) return { ...overrides, MCP_BRIDGE_LOG_LEVEL: "INFO" };
  const isAsked = (env["MCP_BRIDGE_LOG_LEVEL"]?.trim() ?? "") !== "";
  return isAsked ? overrides : { ...overrides, MCP_BRIDGE_LOG_LEVEL: "ERROR" };
}

/**
 * The settings of one job: it reaches the servers that it names and no other, which narrows what the settings allow.
 * Throws `USAGE` for tools that are allowed of no server.
 */
export function configureJob(config: Config, { servers, allow, json }: JobOptions): Config {
  if (allow !== undefined && servers.length === 0) {
    throw usage(
      `--allow ${JSON.stringify(allow.join(","))} allows tools, but no server may be used`,
      "Name the server too: --servers NAME",
    );
  }
  const { policy } = config;
  return {
    ...config,
    maxOutputChars: json ? Math.max(config.maxOutputChars, JSON_OUTPUT_CHARS) : config.maxOutputChars,
    policy: {
      ...policy,
      servers: { ...policy.servers, only: { names: servers, where: "--servers" } },
      tools:
        allow === undefined
          ? policy.tools
          : { ...policy.tools, allow: { globs: allow.flatMap(toolGlobs), where: "--allow" } },
    },
  };
}

/** `server.tool` as the settings write it, `server/tool`; names of both may have dots, so that each dot may be the one. */
function toolGlobs(pattern: string): readonly string[] {
  if (pattern.includes("/") || !pattern.includes(".")) return [pattern];
  return [...pattern.matchAll(/\./g)].map(
    ({ index }) => `${pattern.slice(0, index)}/${pattern.slice(index + 1)}`,
  );
}
