import { PassThrough, type Readable } from "node:stream";
import { untilInput } from "../core/first-input.ts";
import type { StdioServing } from "../mcp/stdio.ts";

/** Every message of a client is a JSON object; anything else is answered, but nothing is made ready for it. */
const OPENING_BRACE = 0x7b;

export interface StdioServiceOptions {
  readonly stdin: Readable;
  /** A client speaks: what takes long can begin. Serving begins when it settles. */
  readonly onClient: () => Promise<void>;
  /** Loads what speaks the protocol, and serves over `stdin`, which has all that came meanwhile. */
  readonly serve: (stdin: Readable) => Promise<StdioServing>;
}

/**
 * Serves once somebody speaks. Loading the protocol blocks this process for longer than it takes to have the engine
 * begin with a container; so that goes first, and both go on side by side.
 */
export function serveOnceSpokenTo({ stdin, onClient, serve }: StdioServiceOptions): StdioServing {
  const closed = new AbortController();
  const held = hold(stdin);
  const start = async () => {
    const input = await untilInput(held, closed.signal);
    if (input === undefined) return undefined;
    if (input.includes(OPENING_BRACE)) await onClient();
    return serve(held);
  };
  const serving = start();
  const done = serving.then((service) => service?.done);
  const letGo = () => void stdin.unpipe(held).pause();
  done.then(letGo, letGo);
  return {
    done,
    close() {
      closed.abort();
      void serving.then((service) => service?.close());
      return done;
    },
  };
}

/**
 * What comes from `stdin`, in a stream that may be paused: that of Bun (1.4.5) forgets, when it is paused and has been
 * given back what was read, that its input has ended, and a client's last word would be waited for without end.
 */
function hold(stdin: Readable): PassThrough {
  const held = new PassThrough();
  const end = () => void held.end();
  stdin.once("close", end).once("error", end).pipe(held);
  return held;
}
