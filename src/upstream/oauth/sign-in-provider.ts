import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

export interface SignInProviderOptions {
  readonly redirectUrl: string;
  readonly state: string;
  readonly discovery: OAuthDiscoveryState;
  readonly client: StoredOAuthClientInformation | undefined;
  /** The client is the definition's: it counts for whatever authorization server the server names. */
  readonly isGiven: boolean;
}

/** One sign-in, as the SDK drives it; what comes out of it is read from here and kept by others. */
export class SignInProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  client: StoredOAuthClientInformation | undefined;
  issued: StoredOAuthTokens | undefined;
  resource: string | undefined;
  /** Where the user signs in. */
  authorizationUrl: URL | undefined;
  readonly #state: string;
  readonly #isGiven: boolean;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = "";

  constructor({ redirectUrl, state, discovery, client, isGiven }: SignInProviderOptions) {
    this.redirectUrl = redirectUrl;
    this.client = client;
    this.#state = state;
    this.#isGiven = isGiven;
    this.#discovery = discovery;
    const method = chooseAuthMethod(
      discovery.authorizationServerMetadata?.token_endpoint_auth_methods_supported,
    );
    this.clientMetadata = {
      client_name: "Sandpy",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation({ issuer }: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    if (this.client === undefined) return undefined;
    if (this.#isGiven) return { ...this.client, issuer };
    // Never what one authorization server has registered to another.
    return this.client.issuer === issuer ? this.client : undefined;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.client = client;
  }

  /** None: a sign-in is wanted because those that there are do not do. */
  tokens(): undefined {
    return undefined;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.issued = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveResourceUrl(resource: string): void {
    this.resource = resource;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }
}

/** A program on the user's machine keeps no secret, so none is asked for where the server allows that. */
function chooseAuthMethod(supported: readonly string[] | undefined): string | undefined {
  return ["none", "client_secret_basic", "client_secret_post"].find((method) => supported?.includes(method));
}
