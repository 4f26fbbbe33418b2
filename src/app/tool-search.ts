import type { Config } from "../config/config.ts";
import type { ToolMatches, ToolQuery } from "../kernel/host-tools.ts";
import { openUpstream, type UpstreamPorts } from "./open-upstream.ts";

/**
 * Searches the tools of all usable servers, or of one, as Python does: servers that nobody ever asked are asked first, for a
 * few seconds at most. Rejects with an `UPSTREAM_*` error for a server that is unknown or may not be used.
 */
export async function searchTools(
  config: Config,
  query: ToolQuery,
  ports: UpstreamPorts,
  signal: AbortSignal,
): Promise<ToolMatches> {
  await using upstream = openUpstream(config, ports);
  return await upstream.openSession().searchTools(query, signal);
}
