import { isJsonContentType } from "@modelcontextprotocol/server";
import { costOfJson } from "../../core/json-cost.ts";
import { refuse } from "./refusal.ts";

/** A program of 16 MiB, in which half of the characters are escaped in JSON. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** What the values of a body may take in memory: a request of ours is nearly all text. */
const MAX_COST = 128 * 1024 * 1024;
const READ_MS = 60_000;
const PARSE_ERROR = -32700;

/** A body is several times as large while it is read, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 * 1024;

/** What bodies may take together while they are read: of all, and of one caller. */
export interface BodyLimits {
  readonly total: number;
  readonly perCaller: number;
}

/** Counts the bytes of bodies while they are read. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #used = new Map<string, number>();
  #total = 0;
  #uncollected = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Whether there is room for more of this caller. */
  take(callerId: string, bytes: number): boolean {
    const own = (this.#used.get(callerId) ?? 0) + bytes;
    if (own > this.#limits.perCaller || this.#total + bytes > this.#limits.total) return false;
    this.#used.set(callerId, own);
    this.#total += bytes;
    return true;
  }

  giveBack(callerId: string, bytes: number): void {
    const left = (this.#used.get(callerId) ?? 0) - bytes;
    if (left > 0) this.#used.set(callerId, left);
    else this.#used.delete(callerId);
    this.#total -= bytes;
    this.#uncollected += bytes;
    if (this.#uncollected < COLLECT_BYTES) return;
    this.#uncollected = 0;
    Bun.gc(true);
  }
}

/**
 * Reads the body of a request as JSON: at most `maxBytes` of it, whatever its headers say, and within a minute. A page's
 * form can send text to any server without asking; so what does not call itself JSON is not read.
 */
export async function readJsonBody(
  request: Request,
  callerId: string,
  budget: BodyBudget,
  maxBytes = MAX_BODY_BYTES,
): Promise<{ readonly value: unknown } | Response> {
  const { headers } = request;
  if (!isJsonContentType(headers.get("content-type"))) {
    return refuse(415, "the body must be JSON: send Content-Type: application/json");
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    return refuse(415, "a compressed body is not accepted: send it without Content-Encoding");
  }
  const tooLarge = () => refuse(413, `the body is larger than ${maxBytes} bytes`);
  if (Number(headers.get("content-length") ?? 0) > maxBytes) return tooLarge();
  const reader = request.body?.getReader();
  const stop = () => void reader?.cancel().catch(() => undefined); // the rest is not wanted
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, READ_MS);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let taken = 0;
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      const { byteLength } = part.value;
      const isTooLarge = taken + byteLength > maxBytes;
      if (isTooLarge || !budget.take(callerId, byteLength)) {
        stop();
        return isTooLarge ? tooLarge() : busy();
      }
      taken += byteLength;
      text += decoder.decode(part.value, { stream: true });
    }
    if (isLate) return refuse(408, `the body took longer than ${READ_MS / 1000} s`);
    text += decoder.decode();
    if (costOfJson(text) > MAX_COST) return refuse(413, "the body has more values than are read");
    return { value: JSON.parse(text) };
  } catch {
    return refuse(400, "Parse error: the body is not one value of JSON in UTF-8", { code: PARSE_ERROR });
  } finally {
    clearTimeout(timer);
    budget.giveBack(callerId, taken);
  }
}

function busy(): Response {
  return refuse(503, "too much is being sent at once", { headers: { "retry-after": "1" } });
}
