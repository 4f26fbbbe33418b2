import { BridgeError } from "../core/errors.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { didYouMean } from "./arguments.ts";

/** A server by its name or alias. Throws `UPSTREAM_UNKNOWN_SERVER` with the name that was most likely meant. */
export function findServer(servers: readonly ServerDefinition[], wanted: string): ServerDefinition {
  const found = servers.find(({ name }) => name === wanted) ?? servers.find(({ alias }) => alias === wanted);
  if (found !== undefined) return found;
  const names = servers.map(({ name }) => name);
  throw new BridgeError("UPSTREAM_UNKNOWN_SERVER", `no server is called ${JSON.stringify(wanted)}`, {
    hint: didYouMean(wanted, names) ?? 'Type "sandpy servers" for all of them.',
  });
}
