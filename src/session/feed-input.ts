import { untilAborted } from "../core/lifecycle.ts";
import type { Kernel } from "../kernel/kernel.ts";

const PIECE_BYTES = 64 * 1024; // what a pipe holds

/**
 * Passes `input` on to the program as it reads it, and its end; nothing is taken from `input` that the program has no
 * room for. Ends with the program (`ended`), or when it has closed its standard input; never rejects.
 */
export async function feedInput(
  kernel: Pick<Kernel, "sendInput">,
  input: AsyncIterable<Uint8Array> | undefined,
  ended: AbortSignal,
): Promise<void> {
  const chunks = input?.[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = chunks === undefined ? undefined : await untilAborted(chunks.next(), ended);
      if (ended.aborted) return;
      if (next === undefined || next.done === true) break;
      for (let at = 0; at < next.value.length; at += PIECE_BYTES) {
        const piece = next.value.subarray(at, at + PIECE_BYTES);
        if ((await untilAborted(kernel.sendInput(piece), ended)) !== true) return;
      }
    }
  } catch {
    // what cannot be read any more has ended
  }
  await untilAborted(kernel.sendInput(new Uint8Array()), ended);
}
