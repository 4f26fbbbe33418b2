import type { Readable } from "node:stream";

/**
 * Waits until `input` has something to read and returns that; it stays there for whoever reads next, and nothing more is
 * read meanwhile: the stream is paused. Resolves with undefined where the input ends first, or `signal` aborts.
 */
export async function untilInput(input: Readable, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const found = Promise.withResolvers<Uint8Array | undefined>();
  const take = (chunk: Uint8Array) => {
    input.pause();
    input.unshift(chunk);
    found.resolve(chunk);
  };
  const giveUp = () => found.resolve(undefined);
  if (input.readableEnded || input.destroyed || signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  input.once("end", giveUp).once("close", giveUp).once("error", giveUp).once("data", take);
  try {
    return await found.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    input.off("end", giveUp).off("close", giveUp).off("error", giveUp).off("data", take);
  }
}
