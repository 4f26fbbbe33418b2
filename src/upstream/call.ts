import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import * as z from "zod";
import { BridgeError } from "../core/errors.ts";
import type { ToolCall, ToolResult, ToolSummary } from "../kernel/host-tools.ts";
import { abortedError, waitFor } from "./abort.ts";
import { listNames, nearestNames } from "./names.ts";
import type { LiveServer } from "./pool.ts";
import { isGone } from "./server-faults.ts";
import { MAX_RESULT_BYTES, REFUSED_RESULT_CODE } from "./transport.ts";

/** Timers hold 32 bits; the caller's signal is what ends a call, not a limit that nobody set. */
const MAX_CALL_MS = 2 ** 31 - 1;

/**
 * `Client.callTool` would check the structured content against the tool's output schema and throw the result away if it
 * does not fit; a result is the caller's to judge, so it is passed as it came.
 */
const resultSchema = z.custom<ToolResult>((value) => typeof value === "object" && value !== null);

/** The tools of a server; rejects with an `UPSTREAM_*` error. */
export async function listTools(server: LiveServer, signal: AbortSignal): Promise<readonly ToolSummary[]> {
  const what = `listing the tools of server ${JSON.stringify(server.definition.name)}`;
  try {
    return await waitFor(server.toolList.tools(), signal, what);
  } catch (error) {
    throw describeFault(error, server, what);
  }
}

/** Calls one tool, by its name or alias; rejects with an `UPSTREAM_*` error or `LIMIT_EXCEEDED`. */
export async function callTool(server: LiveServer, call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
  const name = await resolveTool(server, call.tool, signal);
  const what = `the call of tool ${JSON.stringify(name)} of server ${JSON.stringify(server.definition.name)}`;
  if (signal.aborted) throw abortedError(signal, what);
  try {
    const params = { name, arguments: { ...call.arguments } };
    const result = await server.connection.client.request({ method: "tools/call", params }, resultSchema, {
      signal,
      timeout: MAX_CALL_MS,
    });
    server.succeeded();
    return result;
  } catch (error) {
    throw signal.aborted ? abortedError(signal, what) : describeFault(error, server, what);
  }
}

async function resolveTool(server: LiveServer, wanted: string, signal: AbortSignal): Promise<string> {
  const find = (tools: readonly ToolSummary[]) =>
    tools.find(({ name }) => name === wanted) ?? tools.find(({ alias }) => alias === wanted);
  // Also in a list that has changed since: the server itself refuses a tool that it has no more.
  const known = find(server.toolList.latest() ?? (await listTools(server, signal)));
  if (known !== undefined) return known.name;
  // A server may have gained the tool without saying so.
  server.toolList.invalidate();
  const tools = await listTools(server, signal);
  const found = find(tools);
  if (found !== undefined) return found.name;
  throw unknownTool(server.definition.name, wanted, tools);
}

function unknownTool(server: string, wanted: string, tools: readonly ToolSummary[]): BridgeError {
  const near = nearestNames(
    wanted,
    tools.map(({ name }) => name),
  );
  const count = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  const guess =
    near.length === 0 ? "" : `; the nearest ${near.length === 1 ? "is" : "are"} ${listNames(near, 5)}`;
  return new BridgeError(
    "UPSTREAM_UNKNOWN_TOOL",
    `server ${JSON.stringify(server)} has no tool ${JSON.stringify(wanted)}: it has ${count}${guess}`,
    {
      hint: `List them with: await mcp.runtime.list_tools(${JSON.stringify(server)})`,
      data: { server, tool: wanted },
    },
  );
}

/** Says how a request to a server failed; `what` names it. */
export function describeFault(
  error: unknown,
  { definition, connection }: LiveServer,
  what: string,
): BridgeError {
  if (error instanceof BridgeError) return error;
  const data = { server: definition.name };
  if (error instanceof ProtocolError) {
    if (error.code === REFUSED_RESULT_CODE) return describeRefusal(error, what, data);
    const message = `${what} was refused: ${error.message} (JSON-RPC error ${error.code})`;
    return new BridgeError("UPSTREAM_FAILED", message, { data, cause: error });
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new BridgeError("UPSTREAM_TIMEOUT", `${what} was not answered in time`, { data, cause: error });
  }
  if (!isGone(error)) {
    const reason = error instanceof Error ? error.message : String(error);
    return new BridgeError("UPSTREAM_FAILED", `${what} failed: ${reason}`, { data, cause: error });
  }
  const end = connection.endError();
  return new BridgeError(end.code, `${what} failed: ${end.message}`, {
    ...(end.hint === undefined ? {} : { hint: end.hint }),
    data,
    cause: error,
  });
}

function describeRefusal(
  error: ProtocolError,
  what: string,
  data: Readonly<Record<string, unknown>>,
): BridgeError {
  const isTooLarge = (error.data as { readonly isTooLarge?: unknown } | undefined)?.isTooLarge === true;
  if (!isTooLarge) return new BridgeError("UPSTREAM_FAILED", `${what} failed: ${error.message}`, { data });
  return new BridgeError(
    "LIMIT_EXCEEDED",
    `${what} failed: ${error.message}, more than the ${MAX_RESULT_BYTES} allowed`,
    {
      hint: "Ask for less at once, such as one page or some fields.",
      data,
    },
  );
}
