import { BridgeError } from "../core/errors.ts";
import type { HostMemory } from "../kernel/host-memory.ts";
import type { HostSessions } from "../kernel/host-sessions.ts";
import type { HostTools, WhileAsking } from "../kernel/host-tools.ts";
import type { RpcValue } from "../kernel/protocol.ts";
import type { RpcRequest } from "../kernel/rpc.ts";
import { MEMORY_METHODS } from "./memory-methods.ts";
import { SESSION_METHODS } from "./session-methods.ts";

/** What answers Python's requests. */
export interface Host {
  readonly tools: HostTools;
  readonly memory: HostMemory;
  readonly sessions: HostSessions;
}

type Method = RpcRequest["method"];
export type ParamsOf<M extends Method> = Extract<RpcRequest, { readonly method: M }>["params"];

/** Serves one method with the part of the host that it is for. */
export interface RpcMethod<M extends Method, H> {
  /** What a note says that the code was waiting for. */
  readonly label: (params: ParamsOf<M>) => string;
  readonly serve: (
    host: H,
    params: ParamsOf<M>,
    signal: AbortSignal,
    whileAsking: WhileAsking,
  ) => Promise<RpcValue>;
}

const TOOL_METHODS: {
  readonly [M in Exclude<Method, keyof typeof MEMORY_METHODS | keyof typeof SESSION_METHODS>]: RpcMethod<
    M,
    HostTools
  >;
} = {
  servers: { label: () => "the list of servers", serve: (tools, _, signal) => tools.listServers(signal) },
  tools: {
    label: ({ server }) => `the tools of ${server}`,
    serve: (tools, { server }, signal) => tools.tools(server, signal),
  },
  tool_docs: {
    label: ({ server }) => `the tools of ${server}`,
    serve: (tools, { server }, signal) => tools.toolDocs(server, signal),
  },
  check_tool: {
    label: ({ server, tool }) => `whether there is ${server}.${tool}`,
    serve: async (tools, { server, tool }, signal) => {
      await tools.checkTool(server, tool, signal);
      return {};
    },
  },
  call_tool: {
    label: ({ server, tool }) => `${server}.${tool}`,
    serve: async (tools, { server, tool, arguments: args }, signal, whileAsking) => {
      const result = await tools.callTool({ server, tool, arguments: args }, signal, whileAsking);
      if (result["isError"] === true) throw new BridgeError("UPSTREAM_FAILED", textOf(result));
      return result;
    },
  },
  describe_server: {
    label: ({ server }) => `the description of ${server}`,
    serve: (tools, { server }, signal) => tools.describeServer(server, signal),
  },
  find_servers: {
    label: () => "the search for servers",
    serve: (tools, query, signal) => tools.findServers(query, signal),
  },
  search_tools: {
    label: () => "the search for tools",
    serve: (tools, query, signal) => tools.searchTools(query, signal),
  },
  add_server: {
    label: ({ server }) => `the start of ${server}`,
    serve: (tools, { server }, signal) => tools.addServer(server, signal),
  },
  list_resources: {
    label: ({ server }) => `the resources of ${server}`,
    serve: (tools, { server }, signal) => tools.listResources(server, signal),
  },
  read_resource: {
    label: ({ server }) => `a resource of ${server}`,
    serve: (tools, { server, uri }, signal) => tools.readResource(server, uri, signal),
  },
  list_prompts: {
    label: ({ server }) => `the prompts of ${server}`,
    serve: (tools, { server }, signal) => tools.listPrompts(server, signal),
  },
  get_prompt: {
    label: ({ server, prompt }) => `the prompt ${prompt} of ${server}`,
    serve: (tools, request, signal) => tools.getPrompt(request, signal),
  },
};

const METHODS = { ...MEMORY_METHODS, ...SESSION_METHODS, ...TOOL_METHODS };

/** Does what a request asks for. Rejects with what the host's side rejects with, or `UPSTREAM_FAILED` for `isError`. */
export function serveRequest(
  request: RpcRequest,
  host: Host,
  signal: AbortSignal,
  whileAsking: WhileAsking,
): Promise<RpcValue> {
  const { method, params } = request;
  if (isOf(MEMORY_METHODS, method))
    return MEMORY_METHODS[method].serve(host.memory, params as never, signal, whileAsking);
  if (isOf(SESSION_METHODS, method))
    return SESSION_METHODS[method].serve(host.sessions, params as never, signal, whileAsking);
  return TOOL_METHODS[method].serve(host.tools, params as never, signal, whileAsking);
}

/** What a request waits for, in a few words. */
export function labelRequest({ method, params }: RpcRequest): string {
  return METHODS[method].label(params as never);
}

function isOf<T extends object>(methods: T, method: Method): method is Method & keyof T {
  return Object.hasOwn(methods, method);
}

/** The text of an `isError` result; the protocol lets it be empty. */
function textOf(result: Readonly<Record<string, unknown>>): string {
  const blocks = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const texts = blocks.flatMap((block) => {
    const text = (block as { text?: unknown } | null)?.text;
    return typeof text === "string" ? [text] : [];
  });
  return (
    texts.join("\n") || `the tool reported an error without a text: ${JSON.stringify(result).slice(0, 500)}`
  );
}
