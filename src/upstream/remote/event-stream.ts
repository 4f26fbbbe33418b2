import type { ReadableStreamDefaultReader } from "node:stream/web";
import { SMALL_BYTES } from "../../core/answer-room.ts";
import { LineSplitter } from "../../core/lines.ts";
import { Pieces } from "../../core/pieces.ts";
import type { Place } from "../../core/room.ts";
import { createTurns } from "../../core/turns.ts";
import { UnaskedLimit } from "../unasked-limit.ts";
import type { Reader } from "./read-body.ts";

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const COLON = 0x3a;
const SPACE = 0x20;
const FIELDS: ReadonlySet<string> = new Set(["data", "event", "id", "retry"]);
const MAX_NAME_BYTES = 8; // the longest, after a byte order mark
/** The id of an event goes back to the server in a header; one that no header can carry is of no use. */
const MAX_ID_BYTES = 8192;
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
  const decoder = new TextDecoder();
  const { room, owner, signal } = filter.reader;
  const data = new Pieces<string>((lines) => lines.join("\n"));
  /** Of each name the last one counts. */
  const fields = new Map<string, string>();
  let isMessage = true;
  let isStalled = false;
  let bytes = 0;
  let place: Place | undefined;

  const stop = () => void source.cancel().catch(() => undefined); // it may have failed by itself
  const count = (toBytes: number) => {
    if (toBytes <= SMALL_BYTES) return undefined;
    if (place === undefined) {
      place = room.open(owner);
      place.onStalled(() => {
        isStalled = true;
        stop();
      });
    }
    return place.grow(toBytes, signal);
  };
  const flush = (): string => {
    const text = data.take();
    const isPassed = !isMessage || text === "";
    const events = text === undefined ? [] : isPassed ? [text] : filter.replace(text, bytes, place);
    const named = [...fields].map(([name, value]) => `${name}: ${value}`);
    const rendered = events.map((event, index) => renderEvent(index === 0 ? named : [], event));
    // What stays of an event without its data: the SDK takes an id only from one that has some.
    if (events.length === 0 && named.length > 0) rendered.push(renderEvent(named, ""));
    fields.clear();
    isMessage = true;
    bytes = 0;
    place?.leave();
    place = undefined;
    return rendered.join("");
  };
  const end = (why: "overflow" | "stalled") =>
    filter
      .end(why)
      .map((text) => renderEvent([], text))
      .join("");

  try {
    for (let part = await source.read(); !part.done; part = await source.read()) {
      place?.move();
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
          await count(bytes);
          const { name, value } = splitField(line.bytes, decoder);
          if (name === "data") data.add(value);
          else if (name === "id" && value.length <= MAX_ID_BYTES) fields.set(name, value);
          else if (name === "event" || name === "retry") fields.set(name, value);
          if (name === "event") isMessage = value === "" || value === "message";
        }
      }
      if (out !== "") yield out;
      await count(bytes + splitter.heldBytes);
      await turn();
    }
    if (isStalled) yield end("stalled");
  } finally {
    place?.leave();
    stop();
  }
}

/** The value is put into words by itself, so that a large one is there once. Nobody wants a field with another name. */
function splitField(
  line: Uint8Array,
  decoder: TextDecoder,
): { readonly name: string; readonly value: string } {
  const colon = line.subarray(0, MAX_NAME_BYTES + 1).indexOf(COLON);
  const isBare = colon === -1 && line.length <= MAX_NAME_BYTES;
  if (colon === -1) return { name: isBare ? decoder.decode(line) : "", value: "" };
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  const name = decoder.decode(line.subarray(0, colon));
  return { name, value: FIELDS.has(name) ? decoder.decode(line.subarray(start)) : "" };
}

function renderEvent(fields: readonly string[], data: string): string {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return `${[...fields, ...lines].join("\n")}\n\n`;
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
