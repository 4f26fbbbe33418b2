import type { ReadableStreamDefaultReader } from "node:stream/web";
import { LineSplitter } from "../../core/lines.ts";
import type { Place } from "../../core/room.ts";
import { createTurns } from "../../core/turns.ts";
import { UnaskedLimit } from "../unasked-limit.ts";
import { CountedRead, type Reader } from "./counted-read.ts";
import { OpenEvent, renderEvent } from "./open-event.ts";

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
/** Whoever reads the stream looks at all of a piece in one go. */
const MAX_PIECE_CHARS = 64 * 1024;

/** What {@link filterEvents} needs to know. */
export interface EventFilter {
  /** Of one event, all its lines together. */
  readonly maxBytes: number;
  readonly reader: Reader;
  /** The data of an event of type `message`, counted in `place`: the texts that stand in its place, one event for each. */
  replace(data: string, bytes: number, place: Place | undefined): readonly string[];
  /** An event is larger than `maxBytes`, or stopped in the middle: the texts of the last events, after which the stream ends. */
  end(why: "overflow" | "stalled"): readonly string[];
}

/**
 * Passes a stream of server-sent events (WHATWG HTML, "Server-sent events") on, with other data in its messages and
 * never holding more than one event.
 */
export function filterEvents(
  body: ReadableStream<Uint8Array>,
  filter: EventFilter,
): ReadableStream<Uint8Array> {
  const source = body.getReader();
  const texts = renderEvents(source, filter);
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel(reason) {
        void texts.return(undefined); // once what it waits for has come, or ended
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* renderEvents(
  source: ReadableStreamDefaultReader<Uint8Array>,
  filter: EventFilter,
): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(filter.maxBytes);
  const turn = createTurns();
  const limit = new UnaskedLimit();
  const unify = createNewlines();
  const stop = () => void source.cancel().catch(() => undefined); // it may have failed by itself
  const counted = new CountedRead(filter.reader, stop);
  const event = new OpenEvent();
  let bytes = 0;

  const flush = (): string => {
    const text = event.end((data) => filter.replace(data, bytes, counted.place));
    bytes = 0;
    counted.leave();
    return text;
  };
  const end = (why: "overflow" | "stalled") =>
    filter
      .end(why)
      .map((text) => renderEvent([], text))
      .join("");

  try {
    for (let part = await source.read(); !part.done; part = await source.read()) {
      counted.place?.move();
      let out = "";
      for (const line of splitter.push(unify(part.value))) {
        if (out.length > MAX_PIECE_CHARS) {
          yield out;
          out = "";
          await turn();
        }
        bytes += line.kind === "line" ? line.bytes.length : 0;
        if (line.kind === "overflow" || bytes > filter.maxBytes) {
          yield out + end("overflow");
          return;
        }
        if (line.bytes.length === 0) {
          const wait = limit.take(bytes);
          out += flush();
          if (wait !== undefined) {
            if (out !== "") yield out;
            out = "";
            await wait;
          }
        } else {
          await counted.grow(bytes);
          event.take(line.bytes);
        }
      }
      if (out !== "") yield out;
      await counted.grow(bytes + splitter.heldBytes);
      await turn();
    }
    if (counted.isStalled) yield end("stalled");
  } finally {
    counted.leave();
    stop();
  }
}

/** Turns CR and CRLF into LF, whatever the chunks. */
function createNewlines(): (chunk: Uint8Array) => Uint8Array {
  let endedInReturn = false;
  return (chunk) => {
    if (!endedInReturn && !chunk.includes(CARRIAGE_RETURN)) return chunk;
    const out = new Uint8Array(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      const isRest = byte === LINE_FEED && endedInReturn;
      endedInReturn = byte === CARRIAGE_RETURN;
      if (!isRest) out[length++] = endedInReturn ? LINE_FEED : byte;
    }
    return out.subarray(0, length);
  };
}
