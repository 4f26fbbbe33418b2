import type { Config } from "../config/config.ts";
import { BridgeError } from "../core/errors.ts";
import type { ToolResult, ToolSummary, WhileAsking } from "../kernel/host-tools.ts";
import { TimeLimit } from "../session/time-limit.ts";
import type { ClientPeer } from "../upstream/client-peer.ts";
import { loadTracing } from "./load-tracing.ts";
import { openUpstream, type UpstreamPorts } from "./open-upstream.ts";

type Arguments = Readonly<Record<string, unknown>>;

export interface LoneCall {
  /** Names or aliases. */
  readonly server: string;
  readonly tool: string;
  /** Is given the tool, for what depends on its schema; what it throws is what the call rejects with. */
  readonly arguments: (tool: ToolSummary | undefined) => Arguments;
  /** Who is asked, by servers and for approval. */
  readonly peer: ClientPeer;
  /** For the start of the server and the call; it stands still while a person is asked. */
  readonly timeoutMs: number;
}

/**
 * Calls one tool of one server without a sandbox: the same rules, questions and audit as for code hold. Rejects with an
 * `UPSTREAM_*` error, `APPROVAL_DENIED`, or `CANCELLED` when `signal` aborts. The server has ended when it settles.
 */
export async function callOneTool(
  config: Config,
  { server, tool, arguments: args, peer, timeoutMs }: LoneCall,
  ports: UpstreamPorts,
  signal: AbortSignal,
): Promise<ToolResult> {
  const limit = new TimeLimit(timeoutMs);
  const late = new AbortController();
  let isReady = false;
  const forget = limit.whenOver(() =>
    late.abort(isReady ? tooSlow(server, tool, timeoutMs) : neverReady(server, timeoutMs)),
  );
  const stop = AbortSignal.any([signal, late.signal]);
  const whileAsking: WhileAsking = async (work) => {
    const goOn = limit.pause();
    try {
      return await work();
    } finally {
      goOn();
    }
  };
  try {
    await using tracing = await loadTracing(config, ports.log);
    await using upstream = openUpstream(config, { ...ports, tracing });
    upstream.welcome(peer);
    const tools = upstream.openSession(() => peer);
    tools.beginRun();
    const find = async () => {
      const all = await tools.tools(server, stop);
      isReady = true;
      return all.find(({ name }) => name === tool) ?? all.find(({ alias }) => alias === tool);
    };
    return await tools.callTool({ server, tool, arguments: args(await find()) }, stop, whileAsking);
  } catch (error) {
    throw late.signal.aborted && !signal.aborted ? late.signal.reason : error;
  } finally {
    forget();
  }
}

function neverReady(server: string, timeoutMs: number): BridgeError {
  const message = `the start of server ${JSON.stringify(server)} took longer than ${timeoutMs / 1000} s`;
  return new BridgeError("UPSTREAM_TIMEOUT", message, {
    hint: "Nothing was called. Give it longer with --timeout=<seconds>, or start its command by hand and see what it prints.",
    data: { server },
  });
}

function tooSlow(server: string, tool: string, timeoutMs: number): BridgeError {
  const what = `the call of tool ${JSON.stringify(tool)} of server ${JSON.stringify(server)}`;
  return new BridgeError("UPSTREAM_TIMEOUT", `${what} took longer than ${timeoutMs / 1000} s`, {
    hint: "The call may have taken effect. Give it longer with --timeout=<seconds>.",
    data: { server, tool },
  });
}
