import {
  type Client,
  LOG_LEVEL_META_KEY,
  type Progress,
  ProtocolError,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import * as z from "zod";
import { BridgeError } from "../core/errors.ts";
import { MAX_TIMER_MS } from "../core/lifecycle.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ToolCall, ToolResult, ToolSummary } from "../kernel/host-tools.ts";
import { abortedError, limitTime, waitFor } from "./abort.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { Connection } from "./connect.ts";
import type { LiveServer } from "./live-server.ts";
import { MAX_RESULT_BYTES, REFUSED_RESULT_CODE } from "./messages.ts";
import { listNames, nearestNames } from "./names.ts";
import { isGone } from "./server-faults.ts";
import type { Use } from "./server-slot.ts";
import { type Refusal, refusalOf } from "./tool-filter.ts";

const MAX_WORDS_CHARS = 10_000;
const MAY_HAVE_RUN = "The call may have taken effect.";

/**
 * `Client.callTool` would check the structured content against the tool's output schema and throw the result away if it
 * does not fit; a result is the caller's to judge, so it is passed as it came.
 */
const resultSchema = z.custom<ToolResult>((value) => typeof value === "object" && value !== null);

/** The tools of a server that its definition allows; rejects with an `UPSTREAM_*` error. */
export async function listTools(
  server: LiveServer,
  { tools: filter }: ServerDefinition,
  signal: AbortSignal,
): Promise<readonly ToolSummary[]> {
  const tools = await listAll(server, signal);
  return tools.filter((tool) => refusalOf(filter, tool) === undefined);
}

/**
 * Calls one tool, by its own name as {@link resolveTool} gave it; rejects with an `UPSTREAM_*` error or `LIMIT_EXCEEDED`.
 * It is sent once: a call that failed may have done its work, and only who made it can know whether to make it again.
 */
export async function callTool(
  server: LiveServer,
  definition: ServerDefinition,
  { tool: name, arguments: args }: Omit<ToolCall, "server">,
  { signal, peer }: Use,
): Promise<ToolResult> {
  const what = () => `the call of tool ${JSON.stringify(name)} of server ${JSON.stringify(definition.name)}`;
  if (signal.aborted) throw abortedError(signal, what());
  const { callMs } = definition;
  const limit =
    callMs === undefined ? undefined : limitTime(signal, callMs, () => tooSlow(definition, what()));
  const limited = limit?.signal ?? signal;
  try {
    const { client } = server.connection;
    server.relay.wantLogs(client, peer);
    const params = { name, arguments: { ...args }, ...metaOf(client, peer) };
    const result = await client.request({ method: "tools/call", params }, resultSchema, {
      signal: limited,
      timeout: MAX_TIMER_MS, // the signal is what ends a call, not a limit that nobody set
      ...(peer?.wantsProgress() === true ? { onprogress: passProgress(peer, server, name) } : {}),
    });
    server.succeeded();
    return result;
  } catch (error) {
    throw limited.aborted
      ? abortedError(limited, what())
      : describeFault(error, server, what(), MAY_HAVE_RUN);
  } finally {
    limit?.release();
  }
}

/** In the revision of 2026-07-28 each request says for itself which log messages are wanted with it. */
function metaOf(client: Client, peer: ClientPeer | undefined) {
  const severity = peer?.logSeverity();
  if (severity === undefined || client.getProtocolEra() !== "modern") return {};
  return { _meta: { [LOG_LEVEL_META_KEY]: severity } };
}

function passProgress(peer: ClientPeer, { definition, connection }: LiveServer, tool: string) {
  return ({ progress, total, message }: Progress) =>
    peer.progress({
      server: definition.name,
      tool,
      progress,
      total,
      message: message === undefined ? undefined : connection.mask(message),
    });
}

async function listAll(server: LiveServer, signal: AbortSignal): Promise<readonly ToolSummary[]> {
  const what = `listing the tools of server ${JSON.stringify(server.definition.name)}`;
  try {
    return await waitFor(server.toolList.tools(), signal, what);
  } catch (error) {
    throw describeFault(error, server, what);
  }
}

/**
 * A tool that may be called, by its name or alias; rejects with an `UPSTREAM_*` error. `onFound` is told the
 * name also of a tool that may not.
 */
export async function resolveTool(
  server: LiveServer,
  definition: ServerDefinition,
  wanted: string,
  signal: AbortSignal,
  onFound?: (name: string) => void,
): Promise<ToolSummary> {
  const find = (tools: readonly ToolSummary[]) =>
    tools.find(({ name }) => name === wanted) ?? tools.find(({ alias }) => alias === wanted);
  // Also in a list that has changed since: the server itself refuses a tool that it has no more. But not where it counts
  // what the server says of the tool.
  const known = isByClaims(definition) ? undefined : server.toolList.latest();
  let found = find(known ?? (await listAll(server, signal)));
  if (found === undefined) {
    server.toolList.invalidate(); // it may have gained the tool without saying so
    found = find(await listAll(server, signal));
  }
  if (found === undefined) {
    throw unknownTool(definition.name, wanted, await listTools(server, definition, signal));
  }
  onFound?.(found.name);
  const refusal = refusalOf(definition.tools, found);
  if (refusal !== undefined) throw forbiddenTool(definition, found.name, refusal);
  return found;
}

/** Whether the user has rules for which it counts what servers say of their tools. */
function isByClaims({ tools: { policy } }: ServerDefinition): boolean {
  return policy !== undefined && (policy.ask.length > 0 || policy.readOnly !== undefined);
}

function forbiddenTool(
  { name: server, origins }: ServerDefinition,
  tool: string,
  { rule, setting }: Refusal,
): BridgeError {
  const message = `tool ${JSON.stringify(tool)} of server ${JSON.stringify(server)} may not be used: ${rule}`;
  return new BridgeError("UPSTREAM_NOT_USABLE", message, {
    hint:
      setting === undefined
        ? `Only the user can allow it, in the entry ${JSON.stringify(origins[0].key)} of ${origins[0].client}.`
        : `Only the user can allow it, by changing ${setting}.`,
    data: { server, tool },
  });
}

function tooSlow({ name, callMs = 0 }: ServerDefinition, what: string): BridgeError {
  const message = `${what} took longer than the ${callMs / 1000} s that its definition allows`;
  return new BridgeError("UPSTREAM_TIMEOUT", message, {
    hint: `${MAY_HAVE_RUN} Ask for less at once, or the user for a larger timeout in its entry.`,
    data: { server: name },
  });
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
  doubt = "",
): BridgeError {
  if (error instanceof BridgeError) return error;
  const data = { server: definition.name };
  if (error instanceof ProtocolError) {
    if (error.code === REFUSED_RESULT_CODE) return describeRefusal(error, what, data);
    const message = `${what} was refused: ${wordsOf(error, connection)} (JSON-RPC error ${error.code})`;
    return new BridgeError("UPSTREAM_FAILED", message, { data, cause: error });
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new BridgeError("UPSTREAM_TIMEOUT", `${what} was not answered in time`, { data, cause: error });
  }
  if (!isGone(error)) {
    return new BridgeError("UPSTREAM_FAILED", `${what} failed: ${wordsOf(error, connection)}`, {
      data,
      cause: error,
    });
  }
  const end = connection.endError();
  const hint = `${doubt} ${end.hint ?? ""}`.trim();
  return new BridgeError(end.code, `${what} failed: ${end.message}`, {
    ...(hint === "" ? {} : { hint }),
    data,
    cause: error,
  });
}

/** What a server says of a failure, without its secrets and not without end. */
function wordsOf(error: unknown, { mask }: Connection): string {
  const words = mask(error instanceof Error ? error.message : String(error));
  return words.length <= MAX_WORDS_CHARS ? words : `${words.slice(0, MAX_WORDS_CHARS).toWellFormed()}…`;
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
