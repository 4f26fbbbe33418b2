import type { Place } from "../../core/room.ts";
import {
  isMessage,
  isTooCostly,
  MAX_MESSAGE_BYTES,
  type RawMessage,
  refusal,
  refuseBadResult,
  tryParse,
} from "../messages.ts";
import type { Reader } from "./counted-read.ts";
import { filterEvents } from "./event-stream.ts";
import { readBody } from "./read-body.ts";
import { mediaTypeOf, withBody } from "./server-fetch.ts";
import type { StandIns } from "./stand-ins.ts";

/** Of a body that is no answer of MCP: error pages and the like. */
const MAX_OTHER_BYTES = 64 * 1024;

export interface AnswerOptions {
  /** The id of the request that the response answers, as JSON; `undefined` for the standing stream. */
  readonly request: string | undefined;
  /** During the handshake the SDK is to see what came: it draws its conclusions from what is wrong with it. */
  readonly isHandshake: () => boolean;
  readonly standIns: StandIns;
  readonly reader: Reader;
  readonly onBadText: (text: string) => void;
  /** A stream has more in one event than a message may have, and ends. */
  readonly onOverflow: () => void;
}

/** Bounds a server's response, and puts stand-ins in the place of the results in it. */
export async function guardAnswer(response: Response, options: AnswerOptions): Promise<Response> {
  const { reader } = options;
  const type = response.ok ? mediaTypeOf(response) : "";
  if (type === "text/event-stream" && response.body !== null) {
    return withBody(response, guardEvents(response.body, options));
  }
  const isAnswer = type === "application/json";
  const { text, bytes, end, place } = await readBody(
    response,
    isAnswer ? MAX_MESSAGE_BYTES : MAX_OTHER_BYTES,
    reader,
  );
  try {
    if (!isAnswer) return withBody(response, text);
    if (end !== "whole") {
      return withBody(response, JSON.stringify(end === "cut" ? tooLarge(options) : stalled(options)));
    }
    if (options.isHandshake() && !isTooCostly(text)) return withBody(response, text);
    const messages = standInFor(text, bytes, options, place);
    if (messages.length > 0) return withBody(response, `[${messages.join(",")}]`);
    // The request would wait for ever.
    return withBody(response, JSON.stringify(refusal(idOf(options), "the answer is no message of JSON-RPC")));
  } finally {
    place?.leave();
  }
}

function guardEvents(body: ReadableStream<Uint8Array>, options: AnswerOptions): ReadableStream<Uint8Array> {
  return filterEvents(body, {
    maxBytes: MAX_MESSAGE_BYTES,
    reader: options.reader,
    replace: (data, bytes, place) =>
      options.isHandshake() && !isTooCostly(data) ? [data] : standInFor(data, bytes, options, place),
    end: (why) => {
      if (why === "overflow") options.onOverflow();
      if (options.request === undefined) return [];
      return [JSON.stringify(why === "overflow" ? tooLarge(options) : stalled(options))];
    },
  });
}

/** The messages are counted in `place` until they are passed on. */
function standInFor(text: string, bytes: number, options: AnswerOptions, place: Place | undefined): string[] {
  if (isTooCostly(text)) return options.request === undefined ? [] : [JSON.stringify(tooCostly(options))];
  const parsed = tryParse(text);
  const messages = Array.isArray(parsed) ? parsed : [parsed];
  if (!messages.every(isMessage)) options.onBadText(text);
  return messages.filter(isMessage).map((message) => {
    const checked = refuseBadResult(message, bytes);
    const isResult = "result" in checked && !("method" in checked);
    return isResult ? options.standIns.keep(checked, options.request, place) : JSON.stringify(checked);
  });
}

function tooLarge(options: AnswerOptions): RawMessage {
  return refusal(idOf(options), `the answer has more than ${MAX_MESSAGE_BYTES} bytes`, true);
}

function stalled(options: AnswerOptions): RawMessage {
  return refusal(
    idOf(options),
    "the server stopped in the middle of its answer, while others waited to be read",
  );
}

function tooCostly(options: AnswerOptions): RawMessage {
  return refusal(idOf(options), "the answer has more values than are read at once; ask for less");
}

function idOf({ request }: AnswerOptions): unknown {
  return request === undefined ? null : JSON.parse(request);
}
