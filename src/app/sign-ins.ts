import type { Config } from "../config/config.ts";
import type { Log } from "../core/log.ts";
import { discover } from "../discovery/discover.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { explainUnusable, notUsable } from "../upstream/availability.ts";
import { createSignIns, type SignIns } from "../upstream/oauth/sign-ins.ts";
import { openUpstream } from "./open-upstream.ts";

/** The sign-ins to the servers that the bridge would find. */
export interface SignInDesk extends SignIns {
  readonly servers: readonly ServerDefinition[];
  /** Throws `UPSTREAM_NOT_USABLE` for a server that the bridge would not use. */
  requireUsable(server: ServerDefinition): void;
  /** Connects to a server and gives the number of its tools. */
  tryOut(server: ServerDefinition, signal: AbortSignal): Promise<number>;
}

export async function openSignIns(
  config: Config,
  { selfPath, log }: { readonly selfPath: string | undefined; readonly log: Log },
): Promise<SignInDesk> {
  const { servers } = await discover(config, { selfPath });
  return {
    ...createSignIns({ dataDir: config.dataDir }),
    servers,
    requireUsable: (server) => {
      const unusable = explainUnusable(server, config.homeDir);
      if (unusable !== undefined) throw notUsable(server, unusable);
    },
    tryOut: async (server, signal) => {
      await using upstream = openUpstream(config, { log, selfPath });
      return (await upstream.openSession().tools(server.name, signal)).length;
    },
  };
}
