import type { Readable, Writable } from "node:stream";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio as serveTransport } from "@modelcontextprotocol/server/stdio";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { LineTransport } from "./line-transport.ts";
import type { UnreadResults } from "./unread-results.ts";
import { within } from "./within.ts";

/** How long requests under way may go on once the client is done. */
const GRACE_MS = 3000;
/** How long a cancelled run has to say how far it came. */
const CANCEL_MS = 750;
/** How long a slow reader has at least to take the last replies. */
const FLUSH_MS = 500;

export interface StdioOptions {
  /** Makes the server of the connection; runs stop, and answer, when `shutdown` is aborted. */
  readonly createServer: (shutdown: AbortSignal, unread: UnreadResults) => McpServer;
  readonly log: Log;
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** A connection being served. */
export interface StdioServing {
  /** Resolves, never rejects, when the connection is over and its replies are out. */
  readonly done: Promise<void>;
  /** Ends as if stdin had ended; a second call ends the grace. Resolves as `done` does. */
  close(): Promise<void>;
}

/**
 * Serves one client over a pair of streams, in whichever protocol era it speaks. At the end of stdin, on `close()` and
 * when the client closes our stdout, requests under way get 3 s to finish, then are cancelled, then are refused, so
 * that every one of them has a reply; after that `done` resolves.
 */
export function serveStdio({ createServer, log, stdin, stdout }: StdioOptions): StdioServing {
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const hurry = new AbortController();
  const shutdown = new AbortController();
  let ending = false;

  const transport = new LineTransport({
    stdin,
    stdout,
    onInputEnd: () => void end("stdin ended"),
    onOutputClosed: () => void end("stdout was closed"),
    onDropped: (reason) => log.debug("ignored a message", { reason }),
  });
  const handle = serveTransport(() => createServer(shutdown.signal, transport), {
    transport,
    onerror: (error) => log.debug("protocol error", { error: error.message }),
  });

  async function end(why: string): Promise<void> {
    if (ending) return;
    ending = true;
    log.debug("shutting down", { why });
    transport.stopReading();
    const graceEnd = performance.now() + GRACE_MS;
    if (!(await within(transport.answered(), GRACE_MS, hurry.signal))) {
      shutdown.abort(new BridgeError("CANCELLED", "the server is shutting down"));
      if (!(await within(transport.answered(), CANCEL_MS))) transport.abandonRequests();
    }
    shutdown.abort();
    await within(handle.close(), FLUSH_MS);
    await within(transport.flushed(), Math.max(FLUSH_MS, graceEnd - performance.now()), hurry.signal);
    finish();
  }

  return {
    done,
    close() {
      if (ending) hurry.abort();
      void end("close was called");
      return done;
    },
  };
}
