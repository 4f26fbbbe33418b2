import type { Config } from "../config/config.ts";
import type { Log } from "../core/log.ts";
import { discover } from "../discovery/discover.ts";
import type { DiscoveryProblem, ServerDefinition } from "../discovery/server-definition.ts";
import { explainUnusable, type Unusable } from "../upstream/availability.ts";
import { Catalogue } from "../upstream/catalogue/catalogue.ts";
import { catalogueFolder } from "./open-upstream.ts";

/** A server, and the tools that it had when a bridge asked it last, by name; `undefined`: nobody has asked yet. */
export interface InventoryEntry {
  readonly server: ServerDefinition;
  readonly tools: readonly string[] | undefined;
  /** Why it is not used; `undefined` for one that is. */
  readonly unusable: Unusable | undefined;
}

/** All servers that the bridge would find. Starts none, and looks for no engine. */
export async function takeInventory(
  config: Config,
  { selfPath, log }: { readonly selfPath: string | undefined; readonly log: Log },
): Promise<{ readonly entries: readonly InventoryEntry[]; readonly problems: readonly DiscoveryProblem[] }> {
  const { servers, problems } = await discover(config, { selfPath });
  const catalogue = new Catalogue({ folder: catalogueFolder(config), log });
  await catalogue.load(servers);
  const entries = servers.map((server) => ({
    server,
    tools: catalogue.known(server)?.tools.map(({ name }) => name),
    unusable: explainUnusable(server, config.homeDir),
  }));
  return { entries, problems };
}
