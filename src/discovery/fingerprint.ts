import { createHash } from "node:crypto";
import { stripCmd } from "./command-line.ts";
import type { RemoteServer, StdioServer } from "./server-definition.ts";

/**
 * SHA-256 in hex of what a definition would start or contact. Values of variables and headers are left out: they hold
 * secrets, and a new token does not make another server of it.
 */
export function fingerprintOf(transport: StdioServer | RemoteServer): string {
  const facts =
    transport.kind === "stdio"
      ? ["stdio", transport.command, transport.args, transport.cwd ?? null, Object.keys(transport.env).sort()]
      : ["remote", normalizeUrl(transport.url), Object.keys(transport.headers).map(lowerCase).sort()];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}

/** Programs that are the same one wherever they lie: version managers and package managers have their own copies. */
const RUNNERS = new Set(
  "npx bunx pnpx npm pnpm yarn uvx uv pipx node bun deno python python3 docker podman java go ruby php dotnet".split(
    " ",
  ),
);
/** Runners of packages from npm: which of them is used says nothing about the server. */
const NPM_RUNNERS = new Set(["npx", "bunx", "pnpx"]);
const RELATIVE_PATH = /^\.{1,2}(?:[\\/]|$)|^[\w.-]+(?:[\\/][\w.-]+)*\.(?:[cm]?[jt]s|py|sh|rb|php|jar|exe)$/;

/**
 * Text that is equal for two definitions of what is one server to a person, although files write it differently:
 * `npx -y x` and `cmd /c npx x@latest`, a URL with and without its slash, `npx mcp-remote URL` and the URL.
 * It is for putting names together, never for trust: it leaves out where a well-known program lies.
 */
export function identityOf(transport: StdioServer | RemoteServer): string {
  if (transport.kind === "remote") return `remote ${normalizeUrl(transport.url)}`;
  const [command = "", ...args] = stripCmd([transport.command, ...transport.args]);
  const base = lowerCase(command.split(/[\\/]/).at(-1) ?? "").replace(/\.(?:exe|cmd|bat)$/, "");
  const program = RUNNERS.has(base) ? base : command;
  const words = NPM_RUNNERS.has(base) ? args.filter((word) => word !== "-y" && word !== "--yes") : args;
  const plain = words.map((word, index) => (index === 0 ? word.replace(/(?<=.)@latest$/, "") : word));
  const url = plain.find((word) => /^https?:\/\//.test(word));
  if (
    NPM_RUNNERS.has(base) &&
    plain[0]?.replace(/(?<=.)@[^@/]*$/, "") === "mcp-remote" &&
    url !== undefined
  ) {
    return `remote ${normalizeUrl(url)}`;
  }
  const folder = [command, ...plain].some((word) => RELATIVE_PATH.test(word)) ? (transport.cwd ?? "") : "";
  return JSON.stringify([NPM_RUNNERS.has(base) ? "npx" : program, plain, folder]);
}

/** A URL as everybody writes the same one: host in lower case, no default port, no `/` at the end, no fragment. */
function normalizeUrl(text: string): string {
  if (!URL.canParse(text)) return text; // a variable in it is not filled in
  const url = new URL(text);
  url.hash = "";
  url.pathname = withoutLastSlashes(url.pathname);
  return url.search === "" ? withoutLastSlashes(url.href) : url.href;
}

/** Not by a pattern: that would take long for a hostile one with very many. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}
