import { join } from "node:path";
import { defineCommand } from "citty";
import type { InventoryEntry } from "../app/inventory.ts";
import type { Config } from "../config/config.ts";
import { loadSettings } from "../config/load-file.ts";
import { shortenHome } from "../core/home-path.ts";
import { createLog } from "../core/log.ts";
import { safeWordsOf, variableNamesOf } from "../discovery/describe.ts";
import type { Origin, ServerDefinition } from "../discovery/server-definition.ts";
import { MANY } from "./arguments.ts";
import type { CliContext } from "./context.ts";
import { findServer } from "./find-server.ts";
import { print, printJson, reportProblems } from "./output.ts";
import { addressed, commandLine, printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { renderTable, type Screen, screenOf } from "./table.ts";

/** `sandpy servers` */
export const serversCommand = defineCommand({
  meta: { name: "servers", description: "List the MCP servers that were found, and why one is not used." },
  args: {
    name: {
      type: "positional",
      required: false,
      valueHint: MANY,
      description: "only these, by name or alias",
    },
    all: { type: "boolean", description: "show every place that defines a server" },
    names: { type: "boolean", description: "print the names alone" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => listServers({ ...args, wanted: args._ }, data),
});

interface ListOptions {
  readonly wanted: readonly string[];
  readonly all?: boolean | undefined;
  readonly names?: boolean | undefined;
  readonly json?: boolean | undefined;
}

async function listServers({ wanted, all, names, json }: ListOptions, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line), config.logFormat);
  const { takeInventory } = await import("../app/inventory.ts");
  const { entries, problems } = await takeInventory(config, { selfPath: io.selfPath, log });
  const shown = select(entries, wanted);
  if (json === true) {
    const servers = shown.map((entry) => describe(entry, config));
    return printJson(io, { servers, problems });
  }
  if (names === true) return print(io, shown.map(({ server }) => `${printable(server.name)}\n`).join(""));
  const code = await print(io, renderList(shown, config, all === true, screenOf(io)));
  if (wanted.length === 0) reportProblems(io, problems, { notes: all === true });
  return code;
}

function select(entries: readonly InventoryEntry[], wanted: readonly string[]): readonly InventoryEntry[] {
  if (wanted.length === 0) return entries;
  const servers = entries.map(({ server }) => server);
  return wanted.flatMap((name) => {
    const wanted = findServer(servers, name);
    return entries.filter(({ server }) => server === wanted);
  });
}

const COLUMNS = [
  { title: "NAME", minWidth: undefined },
  { title: "ALIAS", minWidth: undefined },
  { title: "STATE", minWidth: undefined },
  { title: "TOOLS", minWidth: undefined },
  { title: "SERVER", minWidth: 16 },
  { title: "FROM", minWidth: 16 },
] as const;

function renderList(
  entries: readonly InventoryEntry[],
  config: Config,
  all: boolean,
  screen: Screen,
): string {
  if (entries.length === 0) return renderNothing(config);
  const rows = entries.map(({ server, tools }) => [
    printable(server.name),
    server.alias,
    styled(server.availability.kind, screen.style),
    tools === undefined ? "-" : String(tools.length),
    commandLine(safeWordsOf(server, config.env)),
    placeOf(server.origins[0], server.name, config),
  ]);
  const lines = renderTable(COLUMNS, rows, screen);
  const reasons = entries.flatMap(({ server, unusable }) =>
    unusable === undefined
      ? []
      : [printable(`${server.name} ${unusable.reason}. ${addressed(unusable.remedy)}`)],
  );
  const places = entries.flatMap(({ server }) =>
    server.origins
      .slice(1)
      .map((origin) => `${printable(server.name)} is also in ${placeOf(origin, server.name, config)}`),
  );
  return [lines, reasons, all ? places : []]
    .filter((part) => part.length > 0)
    .map((part) => `${part.join("\n")}\n`)
    .join("\n");
}

function styled(state: ServerDefinition["availability"]["kind"], style: Style): string {
  if (state === "usable") return style.green(state);
  return state === "needs" || state === "untrusted" ? style.yellow(state) : style.dim(state);
}

function renderNothing({ stateDir }: Config): string {
  const example = '{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "some-mcp-server"]}}}';
  return `No server was found in the files of MCP clients. Define some in ${join(stateDir, "servers.json")}, such as\n\n  ${example}\n`;
}

/** The file as people write it, the name there where it is another one, and whose file it is. */
function placeOf({ client, file, key }: Origin, name: string, { homeDir }: Config): string {
  return printable(`${shortenHome(file, homeDir)}${key === name ? "" : `:${key}`} (${client})`);
}

function describe({ server, tools, unusable }: InventoryEntry, { env }: Config) {
  const { name, alias, description, transport, origins, availability } = server;
  const words = safeWordsOf(server, env);
  const given = variableNamesOf(transport);
  return {
    name,
    alias,
    description,
    transport:
      transport.kind === "stdio"
        ? { kind: "stdio", command: words[0], args: words.slice(1), cwd: transport.cwd ?? null, env: given }
        : { kind: transport.protocol, url: words[0], headers: given },
    origins: origins.map(({ client, scope, file, key }) => ({ client, scope, file, key })),
    state: availability.kind,
    reason: unusable?.reason ?? null,
    remedy: unusable?.remedy ?? null,
    tools: tools?.length ?? null,
  };
}
