import { shortenHome } from "../core/home-path.ts";
import type { RemoteServer, ServerDefinition, StdioServer } from "../discovery/server-definition.ts";

/** A server that is a process of ours. */
export type StdioDefinition = ServerDefinition & { readonly transport: StdioServer };
/** A server that is reached by URL. */
export type RemoteDefinition = ServerDefinition & { readonly transport: RemoteServer };

export function isStdio(definition: ServerDefinition): definition is StdioDefinition {
  return definition.transport.kind === "stdio";
}

export function isRemote(definition: ServerDefinition): definition is RemoteDefinition {
  return definition.transport.kind === "remote";
}

/** Where to correct a definition. */
export function correctionHint({ origins: [origin] }: ServerDefinition, home: string | undefined): string {
  return `Correct its definition ${JSON.stringify(origin.key)} in ${shortenHome(origin.file, home)}.`;
}
