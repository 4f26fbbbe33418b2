import { isIP } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { answerRoom } from "../../core/answer-room.ts";
import type { Room } from "../../core/room.ts";
import { plainText } from "../relayed-text.ts";
import { readBody } from "../remote/read-body.ts";
import { createServerFetch, type Endpoint, mediaTypeOf, withBody } from "../remote/server-fetch.ts";

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1024 ** 2;
const MAX_WORDS_CHARS = 300;
/** What the SDK decides by. */
const FAULT_CODE = /^[\w.:/-]{1,100}$/;

export interface OAuthFetchOptions {
  /** Of a request, to the end of its answer. */
  readonly timeoutMs?: number;
  /** Where answers are counted that are not small. */
  readonly room?: Room;
}

/**
 * `fetch` for metadata, registrations and tokens. Where they are is what a server says, who is not to be trusted: it is
 * HTTPS, and on this machine or its network only for a server that is there too. Bodies are small and soon there.
 */
export function createOAuthFetch(
  endpoint: Endpoint,
  signal?: AbortSignal,
  { timeoutMs = TIMEOUT_MS, room = answerRoom }: OAuthFetchOptions = {},
): FetchLike {
  const send = createServerFetch(endpoint);
  return async (target, init = {}) => {
    const url = new URL(target);
    if (!isAllowed(url, endpoint.url)) {
      throw new ForbiddenAddress(`${url.origin} is no address for a sign-in to ${endpoint.url.origin}`);
    }
    const late = AbortSignal.timeout(timeoutMs);
    const signals = [late, signal, init.signal ?? undefined];
    const any = AbortSignal.any(signals.filter((one) => one !== undefined));
    const startedAt = performance.now();
    let begun: Response | undefined;
    const read = async () => {
      const response = await send(url, { ...init, signal: any });
      begun = response;
      const body = await readBody(response, MAX_BYTES, { room, owner: endpoint, signal: any });
      body.place?.leave();
      return { response, ...body };
    };
    const { response, text, end } = await read().catch((error: unknown) => {
      if (!late.aborted || any.reason !== late.reason) throw error;
      if (begun !== undefined) throw stalledAfter(url, timeoutMs);
      throw new StalledAnswer(`${url.origin} did not answer within ${seconds(timeoutMs)}`);
    });
    if (end === "stalled") throw stalledAfter(url, performance.now() - startedAt);
    if (end === "cut") throw new ForbiddenAddress(`${url.origin} answered with more than ${MAX_BYTES} bytes`);
    return withBody(response, response.ok ? text : harmless(response, text));
  };
}

/** An address or an answer that a sign-in must not use. */
export class ForbiddenAddress extends Error {
  override readonly name = "ForbiddenAddress";
}

/** An answer that did not come, or not to its end. */
export class StalledAnswer extends Error {
  override readonly name = "StalledAnswer";
}

function stalledAfter({ origin }: URL, ms: number): StalledAnswer {
  return new StalledAnswer(
    `${origin} stopped in the middle of its answer, which was not whole after ${seconds(ms)}`,
  );
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
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
