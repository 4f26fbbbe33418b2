import type { HttpRoutes } from "./http-env.ts";

const PLACE = "/.well-known/oauth-protected-resource";

export interface ResourceMetadata {
  /** The address of MCP, as clients know it. */
  readonly resource: () => string;
  readonly issuer: string;
  readonly scopes: readonly string[];
}

/** Where the metadata of a resource is (RFC 9728, section 3.1). */
export function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${PLACE}${pathname === "/" ? "" : pathname}`;
}

/** Tells clients without a token where to get one (RFC 9728). It is for everybody, and says nothing secret. */
export function createMetadataRoutes({ resource, issuer, scopes }: ResourceMetadata): HttpRoutes {
  return (app) => {
    const metadata = () => ({
      resource: resource(),
      authorization_servers: [issuer],
      bearer_methods_supported: ["header"],
      resource_name: "Sandpy",
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    });
    app.get(PLACE, (c) => c.json(metadata()));
    app.get(`${PLACE}/*`, (c) => c.json(metadata()));
  };
}
