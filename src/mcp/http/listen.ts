import type { SocketAddress } from "bun";
import { BridgeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { openFilesLimit } from "../../core/own-limits.ts";
import { Gate } from "./gate/gate.ts";
import { type ConnectionLimits, connectionLimits } from "./gate/limits.ts";
import type { HttpApp } from "./http-env.ts";
import { MAX_BODY_BYTES } from "./read-body.ts";
import { refuse } from "./refusal.ts";
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
  /** By default what the descriptors of this process allow. */
  readonly connections?: ConnectionLimits;
  readonly log: Log;
}

/** A port that is listened on. */
export interface Listening {
  readonly port: number;
  /** Closes the port and every connection, at once. */
  close(): Promise<void>;
}

/**
 * Listens. Headers have 10 s to arrive and 16 KiB of room; bodies that are larger than any that is accepted, or whose
 * length is no number, are refused before anything else is looked at. Throws `HTTP_LISTEN_FAILED`.
 */
export function listen(options: ListenOptions): Listening {
  const { host, port, log, connections = connectionLimits(openFilesLimit()) } = options;
  let gate: Gate | undefined;
  const server = serveBehind(options, (peer) => gate?.clientOf(peer));
  try {
    const open = new Gate({ hostname: host, port, behind: server.port ?? 0, limits: connections, log });
    gate = open;
    return { port: open.port, close: () => open.close(() => server.stop(true)) };
  } catch (error) {
    void server.stop(true);
    throw explain(error, host, port);
  }
}

/** Serves whom the gate lets in. Other programs of this machine reach that port as well, and get nothing. */
function serveBehind(
  { app, idleSeconds = IDLE_S }: ListenOptions,
  clientOf: (peer: SocketAddress | null) => string | undefined,
) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: idleSeconds,
    maxRequestBodySize: MAX_BODY_BYTES + 1, // one more than is accepted: that gets an answer of our own
    async fetch(request, server) {
      const peer = clientOf(server.requestIP(request));
      if (peer === undefined) return refuse(403, "this port is not for clients");
      let isKeptOpen = false;
      const keepOpen = () => {
        isKeptOpen = true;
        server.timeout(request, 0);
      };
      const response = await app.fetch(request, { keepOpen, peer });
      // Before the answer ends: after it the connection belongs to the next request, or to nobody.
      const letGo = () => server.timeout(request, idleSeconds);
      return isKeptOpen ? trackResponse(response, letGo, openingOf(response)) : response;
    },
  });
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
