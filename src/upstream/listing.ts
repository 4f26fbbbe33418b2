import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import * as z from "zod";
import type { RawEntry } from "../kernel/host-tools.ts";
import type { Connection } from "./connect.ts";

const MAX_PAGES = 1000;
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 8 * 1024 ** 2;

/** Which list of a server: the method that gives it, the key that holds it, what each entry must have. */
export interface Listing {
  readonly method: "resources/list" | "resources/templates/list" | "prompts/list";
  readonly key: "resources" | "resourceTemplates" | "prompts";
  readonly identity: "uri" | "uriTemplate" | "name";
}

/** A whole list, but for what a bound cut off. */
export interface Listed {
  readonly entries: readonly RawEntry[];
  readonly complete: boolean;
}

const pageSchema = z.looseObject({ nextCursor: z.string().optional().catch(undefined) });
const entriesSchema = z.array(z.unknown()).catch([]);
const entrySchema = z.record(z.string(), z.unknown());

/**
 * Fetches all pages of a list, each within `pageMs`: at most 10,000 entries and 8 MiB. What has no identity is left
 * out, and so is what comes twice. A server that does not know the method has an empty list; else it rejects with what
 * the SDK throws.
 */
export async function fetchList(
  { client }: Connection,
  { method, key, identity }: Listing,
  { pageMs, signal }: { readonly pageMs: number; readonly signal: AbortSignal },
): Promise<Listed> {
  const entries = new Map<string, RawEntry>();
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client
      .request({ method, params }, pageSchema, { timeout: pageMs, signal })
      .catch(emptyPage);
    for (const raw of entriesSchema.parse(result[key])) {
      const entry = entrySchema.safeParse(raw);
      const id = entry.data?.[identity];
      if (entry.data === undefined || typeof id !== "string" || entries.has(id)) continue;
      bytes += JSON.stringify(entry.data).length;
      if (entries.size >= MAX_ENTRIES || bytes > MAX_BYTES) {
        return { entries: [...entries.values()], complete: false };
      }
      entries.set(id, entry.data);
    }
    cursor = result.nextCursor;
    if (cursor === undefined) return { entries: [...entries.values()], complete: true };
    if (cursors.has(cursor)) break;
    cursors.add(cursor);
  }
  return { entries: [...entries.values()], complete: false };
}

function emptyPage(error: unknown): z.infer<typeof pageSchema> {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound) return {};
  throw error;
}
