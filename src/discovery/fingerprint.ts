import { createHash } from "node:crypto";
import type { RemoteServer, StdioServer } from "./server-definition.ts";

/**
 * SHA-256 in hex of what a definition would start or contact. Values of variables and headers are left out: they hold
 * secrets, and a new token does not make another server of it.
 */
export function fingerprintOf(transport: StdioServer | RemoteServer): string {
  const facts =
    transport.kind === "stdio"
      ? ["stdio", transport.command, transport.args, transport.cwd ?? null, Object.keys(transport.env).sort()]
      : ["remote", transport.url, Object.keys(transport.headers).sort()];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}
