import type { FetchLike } from "@modelcontextprotocol/client";
import { currentRun } from "../../core/run-context.ts";
import { VERSION } from "../../core/version.ts";

/** Where a server is, without what is secret in its URL. */
export interface Endpoint {
  /** Without user information and fragment. */
  readonly url: URL;
  /** For display: without the query as well. */
  readonly shown: string;
  /** The definition's headers, and the one that user information in the URL stands for. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** What must not be shown. */
  readonly secrets: readonly string[];
}

/** A definition that no request can be made from; the text completes "server "x" …". */
export class BadEndpoint extends Error {
  override readonly name = "BadEndpoint";
}

/** Reads URL and headers of a definition; throws {@link BadEndpoint}. */
export function parseEndpoint(text: string, headers: Readonly<Record<string, string>>): Endpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new BadEndpoint("has a URL that is not valid: expected http://… or https://…");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const scheme = JSON.stringify(`${url.protocol}//`);
    throw new BadEndpoint(`has a URL that starts with ${scheme}: expected http:// or https://`);
  }
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    try {
      own[name.toLowerCase()] = new Headers([[name, value]]).get(name) ?? "";
    } catch {
      throw new BadEndpoint(`has a header ${JSON.stringify(name)} that HTTP does not allow, or its value`);
    }
  }
  const { username, password } = url;
  if (username !== "" || password !== "") {
    const pair = `${percentDecoded(username)}:${percentDecoded(password)}`;
    own["authorization"] ??= `Basic ${Buffer.from(pair).toString("base64")}`;
  }
  url.username = url.password = url.hash = "";
  const words = Object.values(own).flatMap((value) => [value, ...value.split(" ").slice(1)]);
  const query = [...url.searchParams.values()].flatMap((value) => [value, encodeURIComponent(value)]);
  const secrets = [...words, password, percentDecoded(password), ...query, url.search.slice(1)];
  return { url, shown: `${url.origin}${url.pathname}`, headers: own, secrets };
}

/** Of a part of a URL; a `%` that begins no escape stands for itself, as it does for browsers and curl. */
function percentDecoded(part: string): string {
  return part.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes; // no UTF-8
    }
  });
}

/**
 * `fetch` for one server: its headers go to its own origin and nowhere else, only HTTP is spoken, and nothing but the
 * signal ends a request. Redirects are the caller's to follow.
 */
export function createServerFetch({ url: { origin }, headers }: Endpoint): FetchLike {
  return (target, init) => {
    const url = new URL(target);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`${url.protocol}// is no address of a server`); // Bun's fetch would read files
    }
    const sent = new Headers(init?.headers);
    const defaults = { "user-agent": `sandpy/${VERSION}`, ...(url.origin === origin ? headers : {}) };
    for (const [name, value] of Object.entries(defaults)) if (!sent.has(name)) sent.set(name, value);
    if (url.origin === origin) for (const [name, value] of traceHeaders()) sent.set(name, value);
    return fetch(url, { ...init, headers: sent, redirect: "manual", timeout: false });
  };
}

/** Which trace the request is a part of, if it is of one. */
function traceHeaders(): readonly (readonly [string, string])[] {
  const { trace } = currentRun();
  if (trace === undefined) return [];
  const { traceparent, tracestate } = trace;
  return [
    ["traceparent", traceparent],
    ...(tracestate === undefined ? [] : [["tracestate", tracestate] as const]),
  ];
}

/** The same response with another body. */
export function withBody(response: Response, body: string | ReadableStream<Uint8Array> | null): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  for (const name of ["content-length", "content-encoding", "transfer-encoding"]) headers.delete(name);
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : body, { status, statusText, headers });
}

/** `application/json` of `application/json; charset=utf-8`. */
export function mediaTypeOf(response: Response): string {
  return (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
