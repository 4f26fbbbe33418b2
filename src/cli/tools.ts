import { defineCommand } from "citty";
import type { SurveyedServer } from "../app/tool-survey.ts";
import { loadSettings } from "../config/load-file.ts";
import { EXIT_CODES } from "../core/errors.ts";
import { MANY, usage } from "./arguments.ts";
import type { CliContext } from "./context.ts";
import { createQuietLog, print, printJson, reportProblems } from "./output.ts";
import { addressed, printable } from "./printable.ts";
import { searchTools } from "./search-tools.ts";
import { stoppable } from "./stoppable.ts";
import { renderTable, type Screen, screenOf } from "./table.ts";

/** `sandpy tools` */
export const toolsCommand = defineCommand({
  meta: { name: "tools", description: "List the tools of the MCP servers, as far as they were ever asked." },
  args: {
    server: {
      type: "positional",
      required: false,
      valueHint: MANY,
      description: "only of these, by name or alias; one that was never asked is started",
    },
    search: { type: "string", valueHint: "words", description: "show the tools that fit these words best" },
    refresh: { type: "boolean", description: "start the servers and ask them now" },
    json: { type: "boolean", description: "print JSON, with the schemas" },
  },
  run: ({ args, data }) => {
    const options = { names: args._, refresh: args.refresh === true, json: args.json === true };
    if (args.search === undefined) return listTools(options, data);
    if (options.refresh) throw usage("--search and --refresh exclude each other", "Refresh first.");
    return searchTools({ ...options, query: args.search }, data);
  },
});

interface ListOptions {
  readonly names: readonly string[];
  readonly refresh: boolean;
  readonly json: boolean;
}

async function listTools({ names, refresh, json }: ListOptions, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const log = createQuietLog(config, io); // each failure is printed once, below
  return stoppable(io, "asking the servers", async (signal) => {
    const { surveyTools } = await import("../app/tool-survey.ts");
    const ports = { selfPath: io.selfPath, log };
    const { servers, problems } = await surveyTools(config, { names, refresh }, ports, signal);
    signal.throwIfAborted();
    const code = json
      ? await printJson(io, { servers: servers.map(describe), problems })
      : await print(io, renderServers(servers, screenOf(io)));
    if (names.length === 0) reportProblems(io, problems, { notes: false });
    if (json) return failureOf(servers, names) ?? code;
    for (const { name, error } of servers) {
      if (error === undefined) continue;
      const hint = hintForTool(name, servers) ?? error.hint;
      io.stderr.write(`sandpy: ${lines(error.message)}\n`);
      if (hint !== undefined) io.stderr.write(`${lines(addressed(hint))}\n`);
    }
    return failureOf(servers, names) ?? code;
  });
}

/** What to type where `SERVER TOOL` was typed, as for `sandpy call`; `undefined` where none of the servers has such a tool. */
function hintForTool(name: string, servers: readonly SurveyedServer[]): string | undefined {
  const owner = servers.find(({ known }) => known?.tools.some((tool) => tool.name === name) === true);
  if (owner === undefined || servers.some(({ name: each, server }) => each === name && server !== undefined))
    return undefined;
  return `${JSON.stringify(owner.name)} has a tool of that name. For its schema, type: sandpy tools ${owner.name} --json`;
}

/** A server that somebody named must not fail in silence; of all of them, some always do. */
function failureOf(servers: readonly SurveyedServer[], names: readonly string[]): number | undefined {
  return names.length > 0 && servers.some(({ error }) => error !== undefined)
    ? EXIT_CODES.UPSTREAM_FAILED
    : undefined;
}

const COLUMNS = [
  { title: "", minWidth: undefined },
  { title: "", minWidth: 16 },
] as const;

function renderServers(servers: readonly SurveyedServer[], screen: Screen): string {
  if (servers.length === 0) return "No server is usable. For all that were found, type: sandpy servers\n";
  const blocks = servers.filter(({ known }) => known !== undefined).map((each) => renderServer(each, screen));
  const unasked = servers.filter(({ known, error }) => known === undefined && error === undefined);
  if (unasked.length > 0) {
    const names = unasked.map(({ name }) => printable(name)).join(", ");
    blocks.push(`Never asked: ${names}\nFor their tools, type: sandpy tools --refresh\n`);
  }
  return blocks.join("\n");
}

function renderServer({ name, known, asks }: SurveyedServer, screen: Screen): string {
  const { tools = [], fetchedAt = 0 } = known ?? {};
  const count = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  const head = `${screen.style.bold(printable(name))}: ${count}, listed ${describeAge(Date.now() - fetchedAt)}`;
  const rows = tools.map((tool) => [
    `  ${printable(tool.name)}`,
    `${asks.has(tool.name) ? "(asks you first) " : ""}${firstLine(tool.description)}`,
  ]);
  const [, ...table] = renderTable(COLUMNS, rows, screen);
  return `${[head, ...table].join("\n")}\n`;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** An age in words, such as `3 hours ago`. */
export function describeAge(ms: number): string {
  for (const [unit, size] of UNITS) {
    const count = Math.floor(ms / size);
    if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

function firstLine(description: string): string {
  return printable(description.trim().split(/\r?\n/, 1)[0] ?? "");
}

function lines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

function describe({ name, server, known, error, asks }: SurveyedServer) {
  return {
    name,
    alias: server?.alias ?? null,
    listed: known === undefined ? null : new Date(known.fetchedAt).toISOString(),
    info: known?.info ?? null,
    tools:
      known?.tools.map((tool) => {
        const rule = asks.get(tool.name);
        return rule === undefined ? tool : { ...tool, asks: rule };
      }) ?? null,
    error:
      error === undefined ? null : { code: error.code, message: error.message, hint: error.hint ?? null },
  };
}
