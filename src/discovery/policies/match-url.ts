import { matchesStars } from "../../core/glob.ts";

/**
 * Whether a URL matches a pattern such as `https://*.example.com/*`. Scheme and host know no case, the default port and
 * a dot at the end of the host make no difference, a `*` in the host does not reach into the path, and a pattern without
 * a path allows every path. What is no URL pattern matches nothing.
 */
export function matchesUrl(pattern: string, text: string): boolean {
  const parts = /^([^:/]+):\/\/([^/?#]*)(.*)$/s.exec(pattern);
  if (parts === null || !URL.canParse(text)) return false;
  const [, scheme = "", authority = "", rest = ""] = parts;
  const url = new URL(text);
  const protocol = url.protocol.slice(0, -1);
  return (
    matchesStars(scheme.toLowerCase(), protocol) &&
    matchesHost(authority.toLowerCase(), url, protocol) &&
    (rest === "" || matchesStars(rest, `${url.pathname}${url.search}`))
  );
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };

function matchesHost(authority: string, url: URL, protocol: string): boolean {
  const [, name = "", port] = /^(.*?)(?::(\d+|\*))?$/s.exec(authority) ?? [];
  const host = url.hostname.replace(/\.$/, "");
  if (!matchesStars(name.replace(/\.$/, ""), host)) return false;
  const own = url.port === "" ? (DEFAULT_PORTS[protocol] ?? "") : url.port;
  return matchesStars(port ?? DEFAULT_PORTS[protocol] ?? "", own);
}
