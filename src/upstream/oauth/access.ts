import { type AuthProvider, InsufficientScopeError } from "@modelcontextprotocol/client";
import type { ConnectOptions } from "../connect.ts";
import { correctionHint, type RemoteDefinition } from "../definitions.ts";
import type { Endpoint } from "../remote/server-fetch.ts";
import { createOAuthFetch } from "./oauth-fetch.ts";
import { clientOf } from "./sign-in.ts";
import { SignInStore } from "./sign-in-store.ts";
import { signInCommand, TokenSource } from "./token-source.ts";

/** How a connection shows who it is. */
export interface Access {
  /** `undefined`: by the headers of the definition, or not at all. */
  readonly provider: AuthProvider | undefined;
  /** What to do where the server does not accept it. */
  readonly signInHint: string;
  /** What must not be shown. */
  secrets(): readonly string[];
  noteUse(response: Response, authorization: string | null): void;
  /** Keeps what a server said that it wants, for the next sign-in. */
  note(error: unknown): Promise<void>;
}

/** Headers of the definition come first; a sign-in is used where there is none and the definition does not forbid it. */
export function createAccess(
  definition: RemoteDefinition,
  endpoint: Endpoint,
  { remembered: { dataDir }, env }: Pick<ConnectOptions, "remembered" | "env">,
): Access {
  const { oauth } = definition.transport;
  const correction = correctionHint(definition, env["HOME"]);
  const without = (signInHint: string): Access => ({
    provider: undefined,
    signInHint,
    secrets: () => [],
    noteUse: () => undefined,
    note: async () => undefined,
  });
  if (endpoint.headers["authorization"] !== undefined) {
    return without(`It does not accept the authorization that its definition gives. ${correction}`);
  }
  if (oauth === "off") return without(`Its definition forbids a sign-in by OAuth. ${correction}`);
  if (dataDir === undefined) return without(correction);
  const client = clientOf(oauth ?? {});
  const source = new TokenSource({
    url: endpoint.url,
    store: new SignInStore(dataDir),
    fetch: createOAuthFetch(endpoint),
    client,
    server: definition.name,
  });
  return {
    provider: source,
    signInHint: `Ask the user to run: ${signInCommand(definition.name)}`,
    secrets: () => [
      ...source.secrets(),
      ...(client?.client_secret === undefined ? [] : [client.client_secret]),
    ],
    noteUse: (response, authorization) => source.noteUse(response, authorization),
    note: async (error) => {
      if (!(error instanceof InsufficientScopeError)) return;
      const { requiredScope: scope, resourceMetadataUrl } = error;
      await source.noteChallenge({ scope, resourceMetadataUrl: resourceMetadataUrl?.href });
    },
  };
}
