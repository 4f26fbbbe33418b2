import { Pieces } from "./pieces.ts";

/** All that `source` gives; `undefined` where that is more than `maxBytes`: then nothing more is read of it. */
export async function readBounded(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const pieces = new Pieces<Uint8Array>((some) => Buffer.concat(some));
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    pieces.add(piece);
  }
  return pieces.take() ?? new Uint8Array();
}
