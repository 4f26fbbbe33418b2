import { loadSettings } from "../config/load-file.ts";
import type { ToolMatches } from "../kernel/host-tools.ts";
import { usage } from "./arguments.ts";
import type { CliContext } from "./context.ts";
import { createQuietLog, print, printJson } from "./output.ts";
import { printable } from "./printable.ts";
import { stoppable } from "./stoppable.ts";
import { renderTable, type Screen, screenOf } from "./table.ts";

const MAX_MATCHES = 20;

export interface SearchOptions {
  readonly query: string;
  /** Names or aliases: none for all, or one. */
  readonly names: readonly string[];
  readonly json: boolean;
}

/** `sandpy tools --search`: the tools that fit some words best, the best first. */
export async function searchTools(
  { query, names, json }: SearchOptions,
  { io }: CliContext,
): Promise<number> {
  const [server = null, second] = names;
  if (second !== undefined)
    throw usage("--search looks through all servers, or through one", "Name one SERVER.");
  const config = await loadSettings(io.env);
  const log = createQuietLog(config, io);
  return stoppable(io, "the search", async (signal) => {
    const { searchTools: search } = await import("../app/tool-search.ts");
    const wanted = { query, server, limit: MAX_MATCHES };
    const found = await search(config, wanted, { selfPath: io.selfPath, log }, signal);
    if (json) return printJson(io, describe(found));
    const code = await print(io, render(query, found, screenOf(io)));
    const { unknown, unknownServers } = found;
    if (unknown > 0) {
      const more = unknown > unknownServers.length ? ", …" : "";
      const known = unknownServers.map(printable).join(", ");
      io.stderr.write(
        `sandpy: not searched, since nobody has asked them for their tools: ${known}${more}\nFor that, type: sandpy tools --refresh\n`,
      );
    }
    return code;
  });
}

const COLUMNS = [
  { title: "SERVER", minWidth: undefined },
  { title: "TOOL", minWidth: undefined },
  { title: "DESCRIPTION", minWidth: 16 },
] as const;

function render(
  query: string,
  { matches, total, searched, suggestions }: ToolMatches,
  screen: Screen,
): string {
  if (searched === 0) return "No tool is known. For the servers that there are, type: sandpy servers\n";
  if (matches.length === 0) {
    const words = suggestions.map((word) => JSON.stringify(word)).join(", ");
    const hint = words === "" ? "For all of them, type: sandpy tools" : `Words that some have: ${words}`;
    return `No tool fits ${printable(JSON.stringify(query))}. ${printable(hint)}\n`;
  }
  const rows = matches.map(({ server, tool }) => [
    printable(server),
    printable(tool.name),
    printable(tool.description.trim().split(/\r?\n/, 1)[0] ?? ""),
  ]);
  const rest = total > matches.length ? `\n${total - matches.length} more fit less well.\n` : "";
  return `${renderTable(COLUMNS, rows, screen).join("\n")}\n${rest}`;
}

function describe({ matches, total, unknownServers }: ToolMatches) {
  return {
    tools: matches.map(({ server, serverAlias, tool }) => ({ server, serverAlias, ...tool })),
    total,
    notSearched: unknownServers,
  };
}
