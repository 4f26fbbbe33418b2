import type { Discovery } from "../discovery/server-definition.ts";
import type { ServerNames } from "../mcp/listed-tool.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** What the description of `run_python` names: the usable servers. */
export function createServerNames(upstream: Upstream): ServerNames {
  return {
    read: async () => usableAliases(await upstream.definitions()),
    onRead: (listener) => upstream.onRead((discovery) => listener(usableAliases(discovery))),
  };
}

function usableAliases({ servers }: Discovery): readonly string[] {
  return servers.filter(({ availability }) => availability.kind === "usable").map(({ alias }) => alias);
}
