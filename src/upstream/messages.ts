import { costOfExactJson, parseExactJson } from "../core/exact-json.ts";
import { MAX_COST_OF_CHAR } from "../core/json-cost.ts";

/** One message; what is longer ends the connection or the stream, since nobody knows which request it answers. */
export const MAX_MESSAGE_BYTES = 32 * 1024 ** 2;
/** What the values of one message may take in memory: 400,000 records of ten fields, or eight million numbers. */
const MAX_MESSAGE_COST = 256 * 1024 ** 2;
/** One result; a larger one fails its request alone. Below what a frame to the sandbox may have. */
export const MAX_RESULT_BYTES = 24 * 1024 ** 2;
/** The JSON-RPC code under which a transport of ours itself answers for a result that is too large, malformed or missing. */
export const REFUSED_RESULT_CODE = -32_900;

/** A JSON-RPC message that was parsed and not yet looked at. */
export type RawMessage = Readonly<Record<string, unknown>>;

/** Whether a message of the size that is allowed has more values than there is memory for. */
export function isTooCostly(text: string): boolean {
  return text.length > MAX_MESSAGE_COST / MAX_COST_OF_CHAR && costOfExactJson(text) > MAX_MESSAGE_COST;
}

/** `undefined` where the text is no JSON, or {@link isTooCostly}. */
export function tryParse(text: string): unknown {
  if (isTooCostly(text)) return undefined;
  try {
    return parseExactJson(text);
  } catch {
    return undefined; // not JSON: the caller says so
  }
}

export function isMessage(value: unknown): value is RawMessage {
  if (typeof value !== "object" || value === null || !("jsonrpc" in value) || value.jsonrpc !== "2.0")
    return false;
  const { id } = value as RawMessage;
  if ("method" in value) return !("id" in value) || id === null || isId(id);
  return "result" in value ? isId(id) : "error" in value && (id === null || isId(id));
}

/** What an id may be; the SDK drops a message with another one without a word. */
function isId(id: unknown): boolean {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** The SDK drops an answer that it cannot read, and its request would hang: answer with an error in its place. */
export function refuseBadResult(message: RawMessage, bytes: number): RawMessage {
  if (!("result" in message)) return message;
  const { id, result } = message;
  const isTooLarge = bytes > MAX_RESULT_BYTES;
  if (!isTooLarge && typeof result === "object" && result !== null && !Array.isArray(result)) return message;
  const text = isTooLarge ? `the result has ${bytes} bytes` : "the result is not an object";
  return refusal(id, text, isTooLarge);
}

/** The answer of a transport itself to the request `id`. */
export function refusal(id: unknown, message: string, isTooLarge = false): RawMessage {
  return { jsonrpc: "2.0", id, error: { code: REFUSED_RESULT_CODE, message, data: { isTooLarge } } };
}
