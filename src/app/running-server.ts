import type { HttpSettings } from "../config/http.ts";
import { BridgeError } from "../core/errors.ts";
import { createSessionClient, type SessionClient } from "../mcp/http/session-client.ts";
import { isWildcard, urlHost } from "./http-address.ts";

export type { SessionSummary } from "../mcp/http/session-api.ts";

export interface RunningServerOptions {
  /** Where it is; by default where the settings have it listen on this machine. */
  readonly url: string | undefined;
  readonly token: string | undefined;
}

/** The sessions of a server that runs, as one of its users. Throws `USAGE` for an address that is none. */
export function reachServer(http: HttpSettings, { url, token }: RunningServerOptions): SessionClient {
  return createSessionClient({ url: url === undefined ? ownAddress(http) : parseAddress(url), token });
}

function ownAddress({ host, port }: HttpSettings): URL {
  if (port === 0) {
    throw new BridgeError("USAGE", "the settings have the server listen on any port that is free", {
      hint: "Name its address with --url, as it says when it starts.",
    });
  }
  return new URL(`http://${urlHost(isWildcard(host) ? "127.0.0.1" : host)}:${port}`);
}

function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === "";
  if (isUsable) return url;
  throw new BridgeError(
    "USAGE",
    `--url is ${JSON.stringify(text.replace(/\/\/[^/]*@/, "//…@"))}: expected an address such as http://127.0.0.1:8848`,
    {
      hint: "A token goes into MCP_BRIDGE_HTTP_TOKEN or --token-file.",
    },
  );
}
