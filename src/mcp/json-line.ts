import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
} from "@modelcontextprotocol/server";

/** A JSON-RPC error reply to a line that holds no message. JSON-RPC wants `id: null` where no id can be known. */
export interface LineRefusal {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** What one line of input is. A `dropped` one gets no reply: it was a notification or a response. */
export type ParsedLine =
  | { readonly kind: "message"; readonly message: JSONRPCMessage }
  | { readonly kind: "refused"; readonly reply: LineRefusal }
  | { readonly kind: "dropped"; readonly reason: string }
  | { readonly kind: "blank" };

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const MAX_REPAIR_CHARS = 1 << 20;

const decoder = new TextDecoder("utf-8", { fatal: true }); // drops a byte order mark

/** Reads one line as one JSON-RPC message, and says in JSON-RPC's own terms why it is none. Never throws. */
export function parseLine(bytes: Uint8Array): ParsedLine {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return refuse(null, PARSE_ERROR, "Parse error: the line is not UTF-8");
  }
  if (!/\S/.test(text)) return { kind: "blank" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = String(error).replace(/^SyntaxError: JSON Parse error: /, "");
    return refuse(requestIdDespiteNaN(text), PARSE_ERROR, `Parse error: ${why}`);
  }
  return parseValue(value);
}

/** The refusal of a line that was dropped unread because it was longer than `maxBytes`. */
export function refuseLongLine(maxBytes: number): LineRefusal {
  return refuse(null, INVALID_REQUEST, `Invalid Request: the message is longer than ${maxBytes} bytes`).reply;
}

export function refuse(id: string | number | null, code: number, message: string) {
  return { kind: "refused", reply: { jsonrpc: "2.0", id, error: { code, message } } } as const;
}

function parseValue(value: unknown): ParsedLine {
  if (Array.isArray(value)) return invalid(null, "batches are not supported; send one message per line");
  if (typeof value !== "object" || value === null) return invalid(null, "the message is not an object");
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  const known = isRequestId(id) ? id : null;
  if (jsonrpc !== "2.0") return invalid(known, '"jsonrpc" is not "2.0"');
  if (method === undefined) {
    if (isJSONRPCResponse(value)) return { kind: "message", message: value };
    if ("result" in value || "error" in value) return { kind: "dropped", reason: "malformed response" };
    return invalid(known, '"method" is missing');
  }
  if (typeof method !== "string") return invalid(known, '"method" is not a string');
  // Rebuilt from the known members: the SDK drops a message that has others, and the peer would wait for ever.
  const rest = { jsonrpc, method, ...(params === undefined ? {} : { params }) };
  if (!("id" in value)) {
    if (isJSONRPCNotification(rest)) return { kind: "message", message: rest };
    return { kind: "dropped", reason: `malformed notification ${method}` };
  }
  if (known === null) {
    const echo = typeof id === "number" && Number.isFinite(id) && !Number.isInteger(id) ? id : null;
    return invalid(echo, '"id" is neither a string nor an integer that JSON numbers carry exactly');
  }
  const request = { ...rest, id: known };
  if (isJSONRPCRequest(request)) return { kind: "message", message: request };
  return refuse(known, INVALID_PARAMS, `Invalid params: "params" or its "_meta" has the wrong shape`);
}

function invalid(id: string | number | null, why: string) {
  return refuse(id, INVALID_REQUEST, `Invalid Request: ${why}`);
}

function isRequestId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/**
 * Python's `json.dumps` writes NaN and Infinity, which are not JSON. The message is refused, but under its own id, so
 * that the caller learns of it at once rather than by a timeout.
 */
function requestIdDespiteNaN(text: string): string | number | null {
  if (text.length > MAX_REPAIR_CHARS) return null;
  const repaired = text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (token) =>
    token.startsWith('"') ? token : "null",
  );
  try {
    const { id, method } = JSON.parse(repaired) as { id?: unknown; method?: unknown };
    return isRequestId(id) && typeof method === "string" ? id : null;
  } catch {
    return null; // broken in another way
  }
}
