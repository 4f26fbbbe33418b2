type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Set in the environment of every upstream server: how many bridges stand above it. A bridge that finds itself at 1
 * or deeper was started as an upstream server, by a wrapper that the self-reference check could not see through, and
 * must not start upstream servers of its own unless `MCP_BRIDGE_ALLOW_SELF_SERVER` is set.
 */
export const DEPTH_VARIABLE = "SANDPY_DEPTH";

/** How many bridges stand above this process; 0 when a person or a client started it. Garbage counts as 1. */
export function bridgeDepth(env: Environment): number {
  const value = env[DEPTH_VARIABLE] ?? "";
  if (value === "") return 0;
  return /^\d{1,6}$/.test(value) ? Number(value) : 1;
}

/** The variable for the children of this process, one level deeper. */
export function childDepthVariables(env: Environment): Readonly<Record<string, string>> {
  return { [DEPTH_VARIABLE]: String(bridgeDepth(env) + 1) };
}
