/** The requests that Python makes of the host, checked once; `docs/protocol.md` lists them. */
import { z } from "zod";
import { anyObject, type RpcFrame } from "./protocol.ts";
import { memoryRequests } from "./rpc-memory.ts";

const MAX_FOUND = 1000;
const MAX_ARGUMENTS = 256;
/** A server may give its tools names of any length; one with a longer name is left out of its list. */
const MAX_TOOL_NAME_CHARS = 16_384;

const name = z.string().min(1).max(256);
const toolName = z.string().min(1).max(MAX_TOOL_NAME_CHARS);
const words = z.string().max(1000);
const limit = z.int().min(1).max(MAX_FOUND);
const server = z.object({ server: name });
const textArguments = z
  .record(name, z.string())
  .refine((given) => Object.keys(given).length <= MAX_ARGUMENTS, `more than ${MAX_ARGUMENTS} arguments`);

const requestSchema = z.discriminatedUnion("method", [
  z.object({ method: z.literal("sessions_list"), params: z.object({}) }),
  z.object({ method: z.literal("session_end"), params: z.object({ session: z.string().max(128) }) }),
  z.object({ method: z.literal("servers"), params: z.object({}) }),
  z.object({ method: z.literal("tools"), params: server }),
  z.object({ method: z.literal("tool_docs"), params: server }),
  z.object({ method: z.literal("check_tool"), params: z.object({ server: name, tool: toolName }) }),
  z.object({
    method: z.literal("call_tool"),
    params: z.object({
      server: name,
      tool: toolName,
      arguments: anyObject,
      timeout: z.number().positive().nullable(),
    }),
  }),
  z.object({ method: z.literal("describe_server"), params: server }),
  z.object({ method: z.literal("find_servers"), params: z.object({ query: words, limit }) }),
  z.object({
    method: z.literal("search_tools"),
    params: z.object({ query: words, limit, server: name.nullable() }),
  }),
  z.object({ method: z.literal("add_server"), params: server }),
  z.object({ method: z.literal("list_resources"), params: server }),
  z.object({
    method: z.literal("read_resource"),
    params: z.object({ server: name, uri: z.string().min(1).max(8192) }),
  }),
  z.object({ method: z.literal("list_prompts"), params: server }),
  z.object({
    method: z.literal("get_prompt"),
    params: z.object({ server: name, prompt: name, arguments: textArguments }),
  }),
  ...memoryRequests,
]);

/** A request that has the right shape; its contents are still the sandbox's word. */
export type RpcRequest = z.infer<typeof requestSchema>;

/** Checks a frame's method and params. Returns what is wrong with them, for Python to raise; never throws. */
export function parseRpc(frame: RpcFrame): RpcRequest | { readonly invalid: string } {
  const parsed = requestSchema.safeParse({ method: frame.method, params: frame.params });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join(".") ?? "";
  return {
    invalid: `request ${JSON.stringify(frame.method)} is not valid: ${where}: ${issue?.message ?? "unknown fault"}`,
  };
}
