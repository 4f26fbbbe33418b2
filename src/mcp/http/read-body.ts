import { isJsonContentType } from "@modelcontextprotocol/server";
import { costOfJson } from "../../core/json-cost.ts";
import type { BodyBudget } from "./body-budget.ts";
import { refuse } from "./refusal.ts";

/** A program of 16 MiB, in which half of the characters are escaped in JSON. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** What the values of a body may take in memory: a request of ours is nearly all text. */
const MAX_COST = 128 * 1024 * 1024;
const READ_MS = 60_000;
const PARSE_ERROR = -32700;

/** What is shorter, and says so, is read at once. */
const SMALL_BYTES = 64 * 1024;

/**
 * Reads the body of a request as JSON: at most `maxBytes` of it, whatever its headers say, and within a minute, in which
 * it may have to wait for others. A page's form can send text to any server without asking; so what does not call itself
 * JSON is not read.
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
  const length = Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  const share = length <= SMALL_BYTES ? undefined : budget.open(callerId);
  if (share === undefined && length > SMALL_BYTES) {
    return refuse(503, "too much is being sent at once", { headers: { "retry-after": "1" } });
  }
  const reader = request.body?.getReader();
  const stop = () => void reader?.cancel().catch(() => undefined); // the rest is not wanted
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
    share?.end(); // it waits no longer
  }, READ_MS);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let taken = 0;
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      const { byteLength } = part.value;
      if (taken + byteLength > maxBytes) {
        stop();
        return tooLarge();
      }
      await share?.take(byteLength);
      if (isLate) break;
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
    share?.end();
  }
}
