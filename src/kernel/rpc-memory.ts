/** The requests that Python makes of what is kept; part of `rpc.ts`. */
import { z } from "zod";

/** The longest `data` of a piece of a file: base64 of 4 MiB. */
const MAX_PIECE_CHARS = Math.ceil((4 * 1024 * 1024) / 3) * 4;

/** Text that is bounded by its frame; `memory` says what is wrong with it, in words for who wrote the code. */
const text = z.string();
const path = z.string().min(1).max(4096);
const count = z.int().nonnegative();
const base = z.string().max(128);
const lease = z.string().min(1).max(64);

export const memoryRequests = [
  z.object({ method: z.literal("memory_list"), params: z.object({}) }),
  z.object({ method: z.literal("memory_load"), params: z.object({ key: text }) }),
  z.object({
    method: z.literal("memory_save"),
    params: z.object({ key: text, value: text, metadata: text.nullable() }),
  }),
  z.object({ method: z.literal("memory_delete"), params: z.object({ key: text }) }),
  z.object({ method: z.literal("memory_hold"), params: z.object({ key: text }) }),
  z.object({ method: z.literal("memory_commit"), params: z.object({ lease, value: text }) }),
  z.object({ method: z.literal("tools_hold"), params: z.object({}) }),
  z.object({ method: z.literal("tools_commit"), params: z.object({ lease, source: text }) }),
  z.object({ method: z.literal("release"), params: z.object({ lease }) }),
  z.object({ method: z.literal("project_list"), params: z.object({}) }),
  z.object({ method: z.literal("project_read"), params: z.object({ path, offset: count }) }),
  z.object({
    method: z.literal("project_write"),
    params: z.object({ path, offset: count, total: count, base, data: z.string().max(MAX_PIECE_CHARS) }),
  }),
  z.object({ method: z.literal("project_remove"), params: z.object({ path, base }) }),
] as const;
