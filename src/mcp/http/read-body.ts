import { isJsonContentType } from "@modelcontextprotocol/server";
import { costOfJson } from "../../core/json-cost.ts";
import { Pieces } from "../../core/pieces.ts";
import { type Place, Room } from "../../core/room.ts";
import { refuse } from "./refusal.ts";

/** A program of 16 MiB, in which half of the characters are escaped in JSON. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** What the values of a body may take in memory beside their text: a request of ours is nearly all text. */
const MAX_VALUES_COST = 8 * 1024 * 1024;
const READ_MS = 60_000;
const PARSE_ERROR = -32700;
/** What takes no more is read at once, and not counted. */
const SMALL_BYTES = 64 * 1024;
/** How many others may be open at once, those that wait included: some of each is in memory in any case. */
const MAX_OPEN = { total: 64, perCaller: 32 };
/** Text of characters beyond Latin-1 takes two bytes for each. */
const WIDE = /[^\0-\xff]/;

/** For all bodies together, by caller. */
export type Bodies = Room;

/** One caller may have half of the room, so that two programs of 10 MB run beside those of others, and the next half of the rest. */
export function createBodies(): Bodies {
  return new Room({ totalBytes: 48 * 1024 * 1024, isShared: true });
}

/** A body that was read. `leave` when nothing needs it any more, which may be called twice. */
export interface JsonBody {
  readonly value: unknown;
  leave(): void;
}

/** Why a body is not read on. */
type Stop = "late" | "stalled" | "full";

/**
 * Reads the body of a request as JSON: at most `maxBytes` of it, whatever its headers say, and within a minute, in which it
 * may have to wait for others, which `onWait` is told. A page's form can send text to any server without asking; so what
 * does not call itself JSON is not read.
 */
export async function readJsonBody(
  request: Request,
  callerId: string,
  bodies: Bodies,
  onWait: () => void = () => undefined,
  maxBytes = MAX_BODY_BYTES,
): Promise<JsonBody | Response> {
  const { headers } = request;
  if (!isJsonContentType(headers.get("content-type"))) {
    return refuse(415, "the body must be JSON: send Content-Type: application/json");
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    return refuse(415, "a compressed body is not accepted: send it without Content-Encoding");
  }
  const tooLarge = () => refuse(413, `the body is larger than ${maxBytes} bytes`);
  const length = headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) return tooLarge();
  const stopped = new AbortController();
  const reader = request.body?.getReader();
  const stop = (why?: Stop) => {
    stopped.abort(why);
    void reader?.cancel().catch(() => undefined); // the rest is not wanted
  };
  const timer = setTimeout(() => stop("late"), READ_MS);
  let place: Place | undefined;
  let isWaiting = false;
  const leave = () => {
    place?.leave();
    place = undefined;
  };
  const count = async (toBytes: number) => {
    if (toBytes <= SMALL_BYTES) return;
    if (place === undefined) {
      const isFull = bodies.count() >= MAX_OPEN.total || bodies.count(callerId) >= MAX_OPEN.perCaller;
      if (isFull) stop("full");
      stopped.signal.throwIfAborted();
      place = bodies.open(callerId);
      place.onStalled(() => stop("stalled"));
    }
    const wait = place.grow(toBytes, stopped.signal);
    if (wait === undefined) return;
    isWaiting = true;
    onWait();
    await wait;
    isWaiting = false;
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const texts = new Pieces<string>((some) => some.join(""));
  let bytes = 0;
  try {
    const saidBytes = Number(length ?? 0);
    // With what its values take, so that it need not wait once more when it is here.
    if (saidBytes > SMALL_BYTES) await count(saidBytes + SMALL_BYTES);
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      bytes += part.value.byteLength;
      if (bytes > maxBytes) {
        stop();
        leave();
        return tooLarge();
      }
      place?.move();
      await count(bytes);
      texts.add(decoder.decode(part.value, { stream: true }));
    }
    stopped.signal.throwIfAborted();
    texts.add(decoder.decode());
    const text = texts.take() ?? "";
    const cost = costOfJson(text);
    if (cost - text.length > MAX_VALUES_COST) {
      leave();
      return refuse(413, "the body has more values than are read");
    }
    await count(cost + (WIDE.test(text) ? text.length : 0));
    const value: unknown = JSON.parse(text);
    place?.onStalled(undefined); // it is here: from now on its caller is not to blame
    return { value, leave };
  } catch {
    leave();
    if (stopped.signal.aborted) return refuseStopped(stopped.signal.reason as Stop, isWaiting);
    return refuse(400, "Parse error: the body is not one value of JSON in UTF-8", { code: PARSE_ERROR });
  } finally {
    clearTimeout(timer);
  }
}

function refuseStopped(why: Stop, isWaiting: boolean): Response {
  if (why === "full" || isWaiting) {
    const message = "too many large bodies are open at once: wait for the answers to some, or try again soon";
    return refuse(503, message, { headers: { "retry-after": why === "full" ? "1" : "10" } });
  }
  if (why === "late") return refuse(408, `the body took longer than ${READ_MS / 1000} s`);
  return refuse(408, "nothing more came of the body, while others waited to be read");
}
