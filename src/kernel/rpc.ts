/** The requests that Python makes of the host, checked once; `docs/protocol.md` lists them. */
import { z } from "zod";
import type { RpcFrame } from "./protocol.ts";

const name = z.string().min(1).max(256);

const requestSchema = z.discriminatedUnion("method", [
  z.object({ method: z.literal("servers"), params: z.object({}) }),
  z.object({ method: z.literal("tools"), params: z.object({ server: name }) }),
  z.object({
    method: z.literal("call_tool"),
    params: z.object({
      server: name,
      tool: name,
      arguments: z.record(z.string(), z.unknown()),
      timeout: z.number().positive().nullable(),
    }),
  }),
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
