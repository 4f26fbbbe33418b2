import { LARGE_BYTES, largeMessages, type Turn } from "../../core/large-messages.ts";
import { LineSplitter } from "../../core/lines.ts";
import { createTurns } from "../../core/turns.ts";
import { UnaskedLimit } from "../unasked-limit.ts";

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
/** The id of an event goes back to the server in a header; one that no header can carry is of no use. */
const MAX_ID_BYTES = 8192;
/** Whoever reads the stream looks at all of a piece in one go. */
const MAX_PIECE_CHARS = 64 * 1024;

/** What {@link filterEvents} needs to know. */
export interface EventFilter {
  /** Of one event, all its lines together. */
  readonly maxBytes: number;
  /**
   * The data of an event of type `message`: the texts that stand in its place, one event for each. `pass` is to be called
   * when they were passed on.
   */
  replace(data: string, bytes: number, pass: () => void): readonly string[];
  /** An event is larger than `maxBytes`: the texts of the last events, after which the stream ends. */
  overflow(): readonly string[];
}

/**
 * Passes a stream of server-sent events (WHATWG HTML, "Server-sent events") on, with other data in its messages and
 * never holding more than one event.
 */
export function filterEvents(filter: EventFilter): TransformStream<Uint8Array, Uint8Array> {
  const splitter = new LineSplitter(filter.maxBytes);
  const turn = createTurns();
  const limit = new UnaskedLimit();
  const unify = createNewlines();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let data: string[] = [];
  let fields: string[] = [];
  let isMessage = true;
  let bytes = 0;
  let received: Turn | undefined;

  const flush = (): string => {
    const large = received;
    large?.received();
    const pass = () => large?.passed();
    const text = data.join("\n");
    const isPassed = !isMessage || text === "";
    const events = data.length === 0 ? [] : isPassed ? [text] : filter.replace(text, bytes, pass);
    const rendered = events.map((event, index) => renderEvent(index === 0 ? fields : [], event));
    // What stays of an event without its data: the SDK takes an id only from one that has some.
    if (events.length === 0 && fields.length > 0) rendered.push(renderEvent(fields, ""));
    data = [];
    fields = [];
    isMessage = true;
    bytes = 0;
    received = undefined;
    return rendered.join("");
  };

  return new TransformStream({
    async transform(chunk, controller) {
      let out = "";
      for (const line of splitter.push(unify(chunk))) {
        if (out.length > MAX_PIECE_CHARS) {
          controller.enqueue(encoder.encode(out));
          out = "";
          await turn();
        }
        bytes += line.kind === "line" ? line.bytes.length : 0;
        if (line.kind === "overflow" || bytes > filter.maxBytes) {
          const last = filter.overflow().map((text) => renderEvent([], text));
          controller.enqueue(encoder.encode(out + last.join("")));
          controller.terminate();
          return;
        }
        if (line.bytes.length === 0) {
          const wait = limit.take(bytes);
          if (received === undefined) await largeMessages.pass(bytes);
          out += flush();
          if (wait !== undefined) {
            if (out !== "") controller.enqueue(encoder.encode(out));
            out = "";
            await wait;
          }
        } else {
          const text = decoder.decode(line.bytes);
          const [name, value] = splitField(text);
          if (name === "data") data.push(value);
          else if (name === "id" && value.length <= MAX_ID_BYTES) fields.push(text);
          else if (name === "event" || name === "retry") fields.push(text);
          if (name === "event") isMessage = value === "" || value === "message";
        }
      }
      if (out !== "") controller.enqueue(encoder.encode(out));
      if (bytes + splitter.heldBytes > LARGE_BYTES) received ??= await largeMessages.enter();
      await turn();
    },
  });
}

function splitField(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(":");
  if (colon === -1) return [line, ""];
  return [line.slice(0, colon), line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)];
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
