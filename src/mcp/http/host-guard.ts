import { refuse } from "./refusal.ts";

/** Whom the server answers to. */
export interface HostRules {
  /** `name` or `name:port`, IPv6 addresses in brackets; without a port any will do. */
  readonly hosts: readonly string[];
  /** Whole origins, such as `https://app.example.com`, whose pages may ask beside those of the server itself. */
  readonly origins: readonly string[];
}

/** Names and addresses of this machine for itself; no page on the web can have one of them as its host. */
export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?)(?::(\d{1,5}))?$/;
const MAX_PORT = 65_535;
const MAX_ORIGIN_CHARS = 512;
const MAX_QUOTED_CHARS = 120;

interface Authority {
  readonly name: string;
  readonly port: string;
}

/**
 * Checks `Host` and `Origin`: a page on the web reaches a server on this machine by a name of its own that leads here (DNS
 * rebinding), or by asking directly; either way one of the two gives it away. Both are compared whole and as parsed; what
 * cannot be parsed is refused, and an empty list allows nothing. Returns the refusal.
 */
export function createHostGuard({ hosts, origins }: HostRules): (headers: Headers) => Response | undefined {
  const allowedHosts = hosts.map((host) => parseHost(host)).filter((host) => host !== undefined);
  const allowedOrigins = new Set(origins.map((origin) => origin.toLowerCase()));
  return (headers) => {
    const given = headers.get("host") ?? "";
    const host = parseHost(given);
    const isKnown = allowedHosts.some(
      ({ name, port }) => name === host?.name && (port === "" || port === host.port),
    );
    if (host === undefined || !isKnown) {
      const hint = host === undefined ? "" : `; to allow it, start with --allow-host ${host.name}`;
      return refuse(403, `the Host ${quote(given)} is none of this server's${hint}`);
    }
    const origin = headers.get("origin");
    if (origin === null || isOwn(origin, host) || allowedOrigins.has(origin.toLowerCase())) return undefined;
    return refuse(
      403,
      `pages of ${quote(origin)} may not use this server; to allow it, start with --allow-origin and that origin`,
    );
  };
}

/** Whether `origin` is that of pages which this server itself sent. */
function isOwn(origin: string, host: Authority): boolean {
  if (origin.length > MAX_ORIGIN_CHARS || !/^https?:\/\//i.test(origin) || !URL.canParse(origin))
    return false;
  const url = new URL(origin);
  if (url.origin !== origin.toLowerCase()) return false; // with a path, a user or a port that browsers leave out
  return url.host === new URL(`${url.protocol}//${host.name}${host.port === "" ? "" : `:${host.port}`}`).host;
}

/** `undefined` for what is no host: nothing, several of them, more than a name and a port. */
function parseHost(text: string): Authority | undefined {
  const [, name, port = ""] = HOST.exec(text.toLowerCase()) ?? [];
  if (name === undefined || Number(port) > MAX_PORT) return undefined;
  if (!name.startsWith("[")) return { name, port };
  const address = `http://${name}`;
  return URL.canParse(address) ? { name: new URL(address).hostname, port } : undefined;
}

function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text);
}
