import type { ServerContext } from "@modelcontextprotocol/server";
import { currentRun } from "../core/run-context.ts";
import { parseTraceContext, type SpanOptions } from "../core/tracing.ts";
import { RUN_PYTHON } from "./run-python.ts";

const MAX_ID_CHARS = 200;

/**
 * A call of the tool as traces have it, by the conventions of OpenTelemetry for MCP. It is a part of what the request's `_meta` names
 * (SEP-414), else of what its HTTP headers name. The session's id of the transport is not told: it lets in.
 */
export function describeRequestSpan(context: ServerContext, revision: string | undefined): SpanOptions {
  const { id, _meta: meta } = context.mcpReq;
  const headers = context.http?.req?.headers;
  const named = parseTraceContext(meta?.["traceparent"], meta?.["tracestate"]);
  const carried = parseTraceContext(headers?.get("traceparent"), headers?.get("tracestate"));
  return {
    name: `tools/call ${RUN_PYTHON}`,
    kind: "server",
    attributes: {
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": RUN_PYTHON,
      "gen_ai.operation.name": "execute_tool",
      "jsonrpc.request.id": String(id).slice(0, MAX_ID_CHARS),
      "mcp.protocol.version": revision,
      "network.transport": headers === undefined ? "pipe" : "tcp",
      "network.protocol.name": headers === undefined ? undefined : "http",
      "sandpy.request.id": currentRun().requestId,
    },
    parent: named ?? carried,
    link: named === undefined ? undefined : carried,
  };
}
