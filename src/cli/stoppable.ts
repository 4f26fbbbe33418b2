import { BridgeError } from "../core/errors.ts";
import { type CliIo, STOP_SIGNALS, type StopSignal } from "./context.ts";

/**
 * Does what a signal, such as that of Ctrl-C, is to end: `work` is told by its `AbortSignal`, and when it has come to an
 * end, whatever it says, the exit code is that of the signal.
 */
export async function stoppable(
  io: CliIo,
  what: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new AbortController();
  let stopped: StopSignal | undefined;
  const forget = io.onStopSignal((signal) => {
    stopped ??= signal;
    stop.abort(new BridgeError("CANCELLED", `${what} was called off`));
  });
  try {
    const code = await work(stop.signal);
    return stopped === undefined ? code : 128 + STOP_SIGNALS[stopped];
  } catch (error) {
    if (stopped === undefined) throw error;
    return 128 + STOP_SIGNALS[stopped];
  } finally {
    forget();
  }
}
