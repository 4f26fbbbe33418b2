import type { Dialect } from "../dialects.ts";
import { isObject } from "../formats/document.ts";
import type { OAuthSettings, RemoteServer } from "../server-definition.ts";
import type { Expander } from "../variables.ts";
import type { EntryFields, TransportFault } from "./fields.ts";

type Entry = Readonly<Record<string, unknown>>;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Ways to sign in that only the client itself has. */
const FOREIGN_SIGN_INS = ["google_credentials", "service_account_impersonation"];

/** How an entry with a URL speaks: `undefined` for what there is no client for. */
export function protocolOf(
  type: string | undefined,
  urlKey: string | undefined,
  dialect: Dialect,
): RemoteServer["protocol"] | undefined {
  switch (type) {
    case "http":
      return dialect.typeHttp;
    case "streamablehttp":
    case "httpstream":
    case "streamable":
      return "http";
    case "sse":
      return "sse";
    case undefined:
      return urlKey === "httpUrl" || urlKey === "http_url" ? "http" : dialect.urlAlone;
    case "ws":
    case "websocket":
      return undefined;
    default:
      return "auto"; // a word of somebody's own: the address tells enough
  }
}

/** The server that an entry describes, or what is wrong with it. */
export function readRemote(
  url: string,
  protocol: RemoteServer["protocol"],
  entry: Entry,
  fields: EntryFields,
  expander: Expander,
): RemoteServer | TransportFault {
  const { expand } = expander;
  const headers = readHeaders(entry, fields, expander);
  const oauth = readOAuth(entry, expand);
  if (typeof entry["headersHelper"] === "string") {
    expander.need('the headers that the command in "headersHelper" prints, which is never run');
  }
  const provider = entry["authProviderType"];
  if (typeof provider === "string" && FOREIGN_SIGN_INS.includes(provider)) {
    expander.need(`a sign-in by "authProviderType" ${JSON.stringify(provider)}`);
  }
  const address = expand(url).trim();
  if (expander.needs.length === 0) {
    const fault = findUrlFault(address) ?? findHeaderFault(headers);
    if (fault !== undefined) return { fault };
  }
  return { kind: "remote", protocol, url: address, headers, oauth };
}

function findUrlFault(url: string): string | undefined {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === "http:" || protocol === "https:") return undefined;
  const found = protocol === undefined ? "" : `, found one with ${JSON.stringify(protocol)}`;
  return `an address that begins with http:// or https://${found}`;
}

function findHeaderFault(headers: Readonly<Record<string, string>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) return `names of HTTP headers, found ${JSON.stringify(name)}`;
    if (!HEADER_VALUE.test(value)) return `text on one line for the header ${JSON.stringify(name)}`;
  }
  return undefined;
}

function readHeaders(
  entry: Entry,
  fields: EntryFields,
  { expand, variable }: Expander,
): Record<string, string> {
  const headers = new Map<string, string>();
  const names = new Set<string>();
  const set = (name: string, value: string | undefined) => {
    if (value === undefined || names.has(name.toLowerCase())) return;
    names.add(name.toLowerCase());
    headers.set(name, value);
  };
  const slotOf = (name: string) => `header ${name.toLowerCase()}`;
  for (const [name, value] of Object.entries(fields.headers)) set(name, expand(value, slotOf(name)).trim());
  const fromEnvironment = entry["env_http_headers"] ?? entry["envHttpHeaders"];
  if (isObject(fromEnvironment)) {
    for (const [name, from] of Object.entries(fromEnvironment)) {
      if (typeof from === "string") set(name, variable(from, slotOf(name)));
    }
  }
  const bearer = (value: string | undefined) =>
    set("Authorization", value === undefined ? value : `Bearer ${value}`);
  const tokenVariable = firstText(entry, ["bearer_token_env_var", "bearerTokenEnv", "bearerTokenEnvVar"]);
  if (tokenVariable !== undefined) bearer(variable(tokenVariable, slotOf("Authorization")));
  const token = firstText(entry, ["bearerToken", "bearer_token", "apiKey"]);
  if (token !== undefined) bearer(expand(token, slotOf("Authorization")));
  return Object.fromEntries(headers);
}

function readOAuth(entry: Entry, expand: Expander["expand"]): RemoteServer["oauth"] {
  const given = entry["oauth"] ?? entry["auth"];
  if (given === false) return "off";
  const said = isObject(given) ? given : {};
  if (said["enabled"] === false) return "off";
  const source: Entry = { ...entry, ...said };
  const isAsked = given === true || given === "oauth" || isObject(given);
  const text = (keys: readonly string[]) => {
    const value = firstText(isObject(given) ? said : given === "oauth" ? source : {}, keys);
    return value === undefined ? undefined : expand(value, "sign-in");
  };
  const scopes = readScopes(said["scopes"] ?? said["scope"] ?? entry["scopes"], expand);
  const redirect = firstText(source, ["oauthRedirectUrl", "redirectUri", "redirect_uri"]);
  const port = said["callbackPort"] ?? said["callback_port"] ?? loopbackPort(redirect);
  const clientId = text(["clientId", "client_id", "CLIENT_ID"]);
  const clientSecret = text(["clientSecret", "client_secret", "CLIENT_SECRET"]);
  const settings: OAuthSettings = {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(isPort(port) ? { callbackPort: port } : {}),
  };
  return isAsked || Object.keys(settings).length > 0 ? settings : undefined;
}

function readScopes(value: unknown, expand: Expander["expand"]): readonly string[] {
  const list = typeof value === "string" ? value.split(/[\s,]+/) : value;
  if (!Array.isArray(list)) return [];
  return list
    .filter((scope) => typeof scope === "string" && scope !== "")
    .map((scope) => expand(scope, "sign-in"));
}

function loopbackPort(url: string | undefined): number | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname) && port !== "" ? Number(port) : undefined;
}

function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65_536;
}

function firstText(entry: Entry, keys: readonly string[]): string | undefined {
  return keys.map((key) => entry[key]).find((value) => typeof value === "string" && value !== "") as
    | string
    | undefined;
}
