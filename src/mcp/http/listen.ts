import { BridgeError } from "../../core/errors.ts";
import type { HttpApp } from "./http-env.ts";
import { MAX_BODY_BYTES } from "./read-body.ts";
import { trackResponse } from "./track-response.ts";

const IDLE_S = 30;
const OPENING = new TextEncoder().encode(": open\n\n");

export interface ListenOptions {
  readonly app: HttpApp;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** A connection on which nothing is heard for so long is cut, unless it waits for an answer of MCP. */
  readonly idleSeconds?: number;
}

/** A port that is listened on. */
export interface Listening {
  readonly port: number;
  /** Closes the port and every connection, at once. */
  close(): Promise<void>;
}

/**
 * Listens. Headers have Bun's 10 s to arrive and 16 KiB of room; bodies that are larger than any that is accepted, or whose
 * length is no number, are refused before anything else is looked at. Throws `HTTP_LISTEN_FAILED`.
 */
export function listen({ app, host, port, idleSeconds = IDLE_S }: ListenOptions): Listening {
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      idleTimeout: idleSeconds,
      maxRequestBodySize: MAX_BODY_BYTES + 1, // one more than is accepted: that gets an answer of our own
      async fetch(request, server) {
        let isKeptOpen = false;
        const keepOpen = () => {
          isKeptOpen = true;
          server.timeout(request, 0);
        };
        const response = await app.fetch(request, { keepOpen });
        // Before the answer ends: after it the connection belongs to the next request, or to nobody.
        const letGo = () => server.timeout(request, idleSeconds);
        return isKeptOpen ? trackResponse(response, letGo, openingOf(response)) : response;
      },
    });
    return { port: server.port ?? port, close: () => server.stop(true) };
  } catch (error) {
    throw explain(error, host, port);
  }
}

/** Bun (1.4.5) sends the headers with the first data, and a client of a stream waits for them: so there is a comment first. */
function openingOf({ headers }: Response): Uint8Array | undefined {
  return headers.get("content-type")?.startsWith("text/event-stream") ? OPENING : undefined;
}

function explain(error: unknown, host: string, port: number): BridgeError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const options = { cause: error, hint: "Choose another by --host and --port." };
  switch (code) {
    case "EADDRINUSE":
      return new BridgeError("HTTP_LISTEN_FAILED", `the port of ${place} is in use already`, {
        ...options,
        hint: "End the program that has it, or choose another by --port; 0 takes any that is free.",
      });
    case "EACCES":
      return new BridgeError("HTTP_LISTEN_FAILED", `listening on ${place} is not permitted`, {
        ...options,
        hint: "Ports below 1024 belong to the administrator: choose another by --port.",
      });
    default:
      return new BridgeError("HTTP_LISTEN_FAILED", `cannot listen on ${place}: ${String(error)}`, options);
  }
}
