import { type IncomingMessage, type RequestOptions, request as requestPlainly } from "node:http";
import { request as requestByTls } from "node:https";
import { BridgeError } from "../../core/errors.ts";

/** Ending a session may take a kill of its container. */
const PATIENCE_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;

export interface ServerQuestion {
  readonly method: string;
  /** `http:` or `https:` */
  readonly url: URL;
  /** Sent as a bearer token. */
  readonly token: string | undefined;
  /** For the whole answer; 30 s unless it is given. */
  readonly timeoutMs?: number | undefined;
}

export interface ServerAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Asks a server for an answer of at most 16 MiB. Follows no redirect, which could carry the token elsewhere;
 * nor does it ask a proxy of the environment, as `fetch` would even for this machine. Rejects with `SERVER_UNREACHABLE`.
 */
export async function askServer(question: ServerQuestion): Promise<ServerAnswer> {
  const { method, url, token, timeoutMs = PATIENCE_MS } = question;
  const send = url.protocol === "https:" ? requestByTls : requestPlainly;
  const signal = AbortSignal.timeout(timeoutMs);
  const options: RequestOptions = {
    method,
    signal,
    headers: {
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      send(url, options, resolve).once("error", reject).end();
    });
    return { status: response.statusCode ?? 0, body: await readAll(response, url, signal) };
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw unreachable(url, signal.aborted ? `no answer within ${timeoutMs} ms` : (code ?? message), error);
  }
}

async function readAll(response: IncomingMessage, url: URL, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) {
      response.destroy();
      throw unreachable(url, `what answers there says more than ${MAX_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unreachable({ origin }: URL, why: string, cause?: unknown): BridgeError {
  return new BridgeError("SERVER_UNREACHABLE", `no server of ours answers at ${origin} (${why})`, {
    cause,
    hint: 'Start one with "sandpy serve --http", or name the address of one that runs with --url.',
  });
}
