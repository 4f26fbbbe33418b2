/** The part of `oidc-provider` that the tests use; it comes without types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Token {
    readonly isExpired: boolean;
    readonly scopes: ReadonlySet<string>;
  }
  class Provider {
    constructor(issuer: string, configuration: object);
    readonly AccessToken: { find(token: string): Promise<Token | undefined> };
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }

  export { Provider };
}
