import { SMALL_BYTES } from "../../core/answer-room.ts";
import { Pieces } from "../../core/pieces.ts";
import type { Place } from "../../core/room.ts";
import { CountedRead, type Reader } from "./counted-read.ts";

/** A text that was read, or as much of it as was allowed. */
export interface BoundedBody {
  readonly text: string;
  readonly bytes: number;
  /** `cut`: there is more of it than may be. `stalled`: nothing more came, while others waited for its room. */
  readonly end: "whole" | "cut" | "stalled";
  /** Where it is counted; to be left when it is not held any more. A small body is not. */
  readonly place: Place | undefined;
}

/**
 * Reads a body, decompressed, up to `maxBytes`; what is left then is never read. What is not small is read when there is
 * room for it. Rejects as the stream does, or with the reason of the reader's signal.
 */
export async function readBody(response: Response, maxBytes: number, reader: Reader): Promise<BoundedBody> {
  const length = lengthOf(response);
  // The connection ends the body at this length, so all of it can be read at once, which is faster.
  if (length !== undefined && length <= SMALL_BYTES && length <= maxBytes) {
    return { text: await response.text(), bytes: length, end: "whole", place: undefined };
  }
  const body = response.body?.getReader();
  const stop = () => void body?.cancel().catch(() => undefined); // it may have failed by itself
  const counted = new CountedRead(reader, stop);
  const chunks = new Pieces<Uint8Array>((parts) => Buffer.concat(parts));
  let bytes = 0;
  let isCut = false;
  try {
    if (length !== undefined && length <= maxBytes) await counted.grow(length);
    for (let part = await body?.read(); part?.done === false; part = await body?.read()) {
      const left = maxBytes - bytes;
      const { value } = part;
      chunks.add(value.length > left ? value.subarray(0, left) : value);
      bytes += Math.min(value.length, left);
      if (value.length > left) {
        isCut = true;
        stop();
        break;
      }
      counted.place?.move();
      await counted.grow(bytes);
    }
    const text = new TextDecoder().decode(chunks.take());
    const end = isCut ? "cut" : counted.isStalled ? "stalled" : "whole";
    return { text, bytes, end, place: counted.place };
  } catch (error) {
    counted.leave();
    stop();
    throw error;
  }
}

/** How many bytes the body has, where its headers say so and it comes as it is. */
function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get("content-length") ?? "";
  const isOther = ["content-encoding", "transfer-encoding"].some((name) => headers.has(name));
  return /^\d+$/.test(length) && !isOther ? Number(length) : undefined;
}
