import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { currentRun } from "../core/run-context.ts";

/** Tells with a request which trace it is a part of, if it is of one: unprefixed in `_meta`, as SEP-414 has it. */
export function withTrace(message: JSONRPCMessage): JSONRPCMessage {
  const { trace } = currentRun();
  if (trace === undefined || !("method" in message) || !("id" in message)) return message;
  const { traceparent, tracestate } = trace;
  const own = { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
  return { ...message, params: { ...message.params, _meta: { ...message.params?._meta, ...own } } };
}
