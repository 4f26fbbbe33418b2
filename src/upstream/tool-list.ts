import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import * as z from "zod";
import type { Log } from "../core/log.ts";
import type { ToolSummary } from "../kernel/host-tools.ts";
import type { Connection } from "./connect.ts";
import { ToolCollector, withAliases } from "./tool-definition.ts";

const MAX_PAGES = 1000;
/** Of the time for one page: the whole list ends after this many. */
const MAX_SLOW_PAGES = 5;
/** After the word that tools changed, the list is fetched again this much later: often there are more such words. */
const SETTLE_MS = 1000;

/** One tool that breaks the protocol must not hide the others. */
const pageSchema = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: z.string().optional().catch(undefined),
});

/** The tools of one connection, fetched once and again after the server said that they changed. */
export interface ToolList {
  /** The fetch is shared by all who ask meanwhile. Rejects with what the SDK throws. */
  tools(): Promise<readonly ToolSummary[]>;
  /** What was fetched last, though the server may have said since that it changed. */
  latest(): readonly ToolSummary[] | undefined;
  /** Forgets what was fetched. */
  invalidate(): void;
}

export interface ToolListOptions {
  /** The server, for the log. */
  readonly name: string;
  readonly log: Log;
  /** Milliseconds for one page. */
  readonly listMs: number;
  /** Told of every list that was fetched. */
  readonly onFetched: (tools: readonly ToolSummary[]) => void;
}

/** Creates the list of a connection; it needs no closing. */
export function createToolList(connection: Connection, options: ToolListOptions): ToolList {
  let current: Promise<readonly ToolSummary[]> | undefined;
  let latest: readonly ToolSummary[] | undefined;
  let settling: ReturnType<typeof setTimeout> | undefined;
  let hasEnded = false;

  const tools = () => {
    if (current === undefined) {
      const fetched = fetchTools(connection, options);
      current = fetched;
      fetched.then(
        (found) => {
          if (current !== fetched && latest !== undefined) return; // it changed meanwhile: a newer one is coming
          latest = found;
          options.onFetched(found);
        },
        () => {
          if (current === fetched) current = undefined;
        },
      );
    }
    return current;
  };
  const invalidate = () => {
    current = undefined;
  };
  const refetch = () => {
    settling = undefined;
    // Only what somebody has seen is kept up to date.
    if (latest !== undefined && current === undefined && !hasEnded) void tools().catch(() => undefined);
  };
  connection.onToolsChanged(() => {
    invalidate();
    settling ??= setTimeout(refetch, SETTLE_MS);
    settling.unref();
  });
  void connection.ended.then(() => {
    hasEnded = true;
    clearTimeout(settling);
  });
  return { tools, latest: () => latest, invalidate };
}

async function fetchTools(
  { client }: Connection,
  { name, log, listMs }: ToolListOptions,
): Promise<readonly ToolSummary[]> {
  const collector = new ToolCollector();
  const cursors = new Set<string>();
  const endsAt = performance.now() + listMs * MAX_SLOW_PAGES;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client
      .request({ method: "tools/list", params }, pageSchema, { timeout: listMs })
      .catch(emptyPage);
    for (const raw of result.tools) collector.add(raw);
    cursor = result.nextCursor;
    if (cursor === undefined || cursors.has(cursor) || collector.isFull || performance.now() > endsAt) break;
    cursors.add(cursor);
  }
  const tools = withAliases(collector.tools());
  if (collector.invalid > 0)
    log.debug("skipped tools that are not valid", { server: name, tools: collector.invalid });
  if (cursor !== undefined || collector.isFull) {
    log.warning("the list of tools is too long or does not end; what came so far is used", {
      server: name,
      tools: tools.length,
    });
  }
  return tools;
}

/** A server without tools may not know the method at all. */
function emptyPage(error: unknown): z.infer<typeof pageSchema> {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound)
    return { tools: [], nextCursor: undefined };
  throw error;
}
