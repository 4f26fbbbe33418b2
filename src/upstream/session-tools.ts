import type { HostTools } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import type { CatalogueReader } from "./catalogue/catalogue.ts";
import type { LiveServer, Pool } from "./pool.ts";
import type { Registry } from "./registry.ts";

export interface SessionToolsOptions {
  readonly registry: Registry;
  readonly pool: Pool;
  readonly catalogue: CatalogueReader;
}

/** What one session may ask of the upstream servers. */
export function createSessionTools({ registry, pool }: SessionToolsOptions): HostTools {
  const acquire = async (name: string, signal: AbortSignal): Promise<LiveServer> => {
    const definition = await waitFor(registry.find(name), signal, "reading the configuration of servers");
    return pool.acquire(definition, signal);
  };
  return {
    async servers() {
      const { servers } = await registry.current();
      return servers
        .filter(({ availability }) => availability.kind === "usable")
        .map((definition) => {
          const { name, alias, description } = definition;
          return { name, alias, description, status: pool.status(definition) };
        });
    },
    async connect(server, signal) {
      await acquire(server, signal);
    },
    async tools(server, signal) {
      const live = await acquire(server, signal);
      const { listTools } = await import("./call.ts"); // loads the SDK, which is loaded by now
      return listTools(live, signal);
    },
    async callTool(call, signal) {
      const live = await acquire(call.server, signal);
      const { callTool } = await import("./call.ts");
      return callTool(live, call, signal);
    },
  };
}
