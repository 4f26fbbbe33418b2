import { isIP } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { answerRoom } from "../../core/answer-room.ts";
import { plainText } from "../relayed-text.ts";
import { readBody } from "../remote/read-body.ts";
import { createServerFetch, type Endpoint, mediaTypeOf, withBody } from "../remote/server-fetch.ts";

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1024 ** 2;
const MAX_WORDS_CHARS = 300;
/** What the SDK decides by. */
const FAULT_CODE = /^[\w.:/-]{1,100}$/;

/**
 * `fetch` for metadata, registrations and tokens. Where they are is what a server says, who is not to be trusted: it is
 * HTTPS, and on this machine or its network only for a server that is there too. Bodies are small and soon there.
 */
export function createOAuthFetch(endpoint: Endpoint, signal?: AbortSignal): FetchLike {
  const send = createServerFetch(endpoint);
  return async (target, init = {}) => {
    const url = new URL(target);
    if (!isAllowed(url, endpoint.url)) {
      throw new ForbiddenAddress(`${url.origin} is no address for a sign-in to ${endpoint.url.origin}`);
    }
    const signals = [AbortSignal.timeout(TIMEOUT_MS), signal, init.signal ?? undefined];
    const any = AbortSignal.any(signals.filter((one) => one !== undefined));
    const response = await send(url, { ...init, signal: any });
    const { text, end, place } = await readBody(response, MAX_BYTES, {
      room: answerRoom,
      owner: endpoint,
      signal: any,
    });
    place?.leave();
    if (end !== "whole")
      throw new ForbiddenAddress(`${url.origin} answered with more than ${MAX_BYTES} bytes`);
    return withBody(response, response.ok ? text : harmless(response, text));
  };
}

/** An address or an answer that a sign-in must not use. */
export class ForbiddenAddress extends Error {
  override readonly name = "ForbiddenAddress";
}

/** Whether a server at `server` may send us to `url`. */
export function isAllowed(url: URL, server: URL): boolean {
  if (url.username !== "" || url.password !== "") return false;
  if (isLoopback(url)) return (url.protocol === "https:" || url.protocol === "http:") && isLocal(server);
  return url.protocol === "https:" && (!isLocal(url) || isLocal(server));
}

function isLoopback({ hostname }: URL): boolean {
  return /^localhost\.?$/.test(hostname) || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** This machine, and addresses that mean something else in each network. Names are not looked up. */
function isLocal(url: URL): boolean {
  if (isLoopback(url) || /\.localhost\.?$/.test(url.hostname)) return true;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) === 4)
    return /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(
      host,
    );
  return isIP(host) === 6 && /^(::|64:ff9b:|f[cd]|fe[89ab])/.test(host);
}

/**
 * The SDK quotes an error in a warning and in its own: a body that is none may repeat what we sent, and the words of one
 * may be very many, or work on a terminal.
 */
function harmless(response: Response, text: string): string {
  const said = mediaTypeOf(response) === "application/json" ? parseFault(text) : undefined;
  return JSON.stringify(said ?? { error: "server_error", error_description: `HTTP ${response.status}` });
}

function parseFault(
  text: string,
): { readonly error: string; readonly error_description?: string } | undefined {
  try {
    const { error, error_description: words } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof error !== "string" || !FAULT_CODE.test(error)) return undefined;
    if (typeof words !== "string") return { error };
    return { error, error_description: plainText(words.slice(0, MAX_WORDS_CHARS)).toWellFormed() };
  } catch {
    return undefined; // no JSON, or no object
  }
}
