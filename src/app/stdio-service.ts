import type { Readable } from "node:stream";
import { untilInput } from "../core/first-input.ts";
import type { StdioServing } from "../mcp/stdio.ts";

/** Every message of a client is a JSON object; anything else is answered, but nothing is made ready for it. */
const OPENING_BRACE = 0x7b;

export interface StdioServiceOptions {
  readonly stdin: Readable;
  /** A client speaks: what takes long can begin. Serving begins when it settles. */
  readonly onClient: () => Promise<void>;
  /** Loads what speaks the protocol, and serves. */
  readonly serve: () => Promise<StdioServing>;
}

/**
 * Serves once somebody speaks. Loading the protocol blocks this process for longer than it takes to have the engine
 * begin with a container; so that goes first, and both go on side by side.
 */
export function serveOnceSpokenTo({ stdin, onClient, serve }: StdioServiceOptions): StdioServing {
  const closed = new AbortController();
  const start = async () => {
    const input = await untilInput(stdin, closed.signal);
    if (input === undefined) return undefined;
    if (input.includes(OPENING_BRACE)) await onClient();
    return serve();
  };
  const serving = start();
  const done = serving.then((service) => service?.done);
  return {
    done,
    close() {
      closed.abort();
      void serving.then((service) => service?.close());
      return done;
    },
  };
}
