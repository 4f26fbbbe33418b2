import { ProtocolError } from "@modelcontextprotocol/client";
import * as z from "zod";
import type { Log } from "../core/log.ts";
import { assignPythonNames } from "../core/python-names.ts";
import type { ToolSummary } from "../kernel/host-tools.ts";
import type { Connection } from "./connect.ts";

const MAX_PAGES = 1000;
const MAX_TOOLS = 10_000;
const MAX_DESCRIPTION_CHARS = 20_000;
const METHOD_NOT_FOUND = -32_601;

/** Read leniently: one tool that breaks the protocol must not hide the others. */
const pageSchema = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: z.string().optional().catch(undefined),
});
const toolSchema = z.object({
  name: z.string().min(1),
  description: z.string().catch(""),
  inputSchema: z.record(z.string(), z.unknown()).catch({ type: "object" }),
});

/** The tools of one connection, fetched once and again after the server said that they changed. */
export interface Catalog {
  /** The fetch is shared by all who ask meanwhile. Rejects with what the SDK throws. */
  tools(): Promise<readonly ToolSummary[]>;
  /** Forgets what was fetched. */
  invalidate(): void;
}

/** Creates the catalog of a connection; `listMs` is the budget of one page. */
export function createCatalog(
  connection: Connection,
  options: { name: string; log: Log; listMs: number },
): Catalog {
  let current: Promise<readonly ToolSummary[]> | undefined;
  // A storm of notifications costs nothing: the next reader fetches, not the notification.
  const invalidate = () => {
    current = undefined;
  };
  connection.onToolsChanged(invalidate);
  return {
    tools: () => {
      if (current === undefined) {
        const fetched = fetchTools(connection, options);
        current = fetched;
        fetched.catch(() => {
          if (current === fetched) current = undefined;
        });
      }
      return current;
    },
    invalidate,
  };
}

async function fetchTools(
  { client }: Connection,
  { name, log, listMs }: { name: string; log: Log; listMs: number },
): Promise<readonly ToolSummary[]> {
  const found = new Map<string, Omit<ToolSummary, "alias">>();
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client
      .request({ method: "tools/list", params }, pageSchema, { timeout: listMs })
      .catch(emptyPage);
    for (const raw of result.tools) {
      const tool = toolSchema.safeParse(raw);
      if (!tool.success) log.debug("skipped a tool that is not valid", { server: name });
      else if (!found.has(tool.data.name)) found.set(tool.data.name, shorten(tool.data));
    }
    cursor = result.nextCursor;
    if (cursor === undefined) return withAliases([...found.values()]);
    if (cursors.has(cursor) || found.size >= MAX_TOOLS) break;
    cursors.add(cursor);
  }
  log.warning("the list of tools does not end; what came so far is used", {
    server: name,
    tools: found.size,
  });
  return withAliases([...found.values()].slice(0, MAX_TOOLS));
}

/** A server without tools may not know the method at all. */
function emptyPage(error: unknown): z.infer<typeof pageSchema> {
  if (error instanceof ProtocolError && error.code === METHOD_NOT_FOUND)
    return { tools: [], nextCursor: undefined };
  throw error;
}

function shorten(tool: z.infer<typeof toolSchema>): Omit<ToolSummary, "alias"> {
  const { description } = tool;
  if (description.length <= MAX_DESCRIPTION_CHARS) return tool;
  return { ...tool, description: `${description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…` };
}

function withAliases(tools: readonly Omit<ToolSummary, "alias">[]): readonly ToolSummary[] {
  const aliases = assignPythonNames(tools.map(({ name }) => name));
  return tools.map((tool, index) => ({ ...tool, alias: aliases[index] ?? "" }));
}
