import type { Judge } from "./judge.ts";

/**
 * Refuses every server to a bridge that a bridge has started: a wrapper hid from that one that it starts itself, and
 * each copy would start the next one.
 */
export function createDepthJudge(depth: number): Judge {
  const rule = `SANDPY_DEPTH=${depth}: this sandpy was started by a server of another sandpy; MCP_BRIDGE_ALLOW_SELF_SERVER=1 permits it`;
  return async () => (depth > 0 ? { kind: "forbidden", rule } : undefined);
}
