import { type ArgsDef, defineCommand } from "citty";
import type { SessionSummary } from "../../app/running-server.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { renderTable, type Screen, screenOf } from "../table.ts";
import { reachSessions, SERVER_FLAGS } from "./reach.ts";

const MEBIBYTE = 1024 ** 2;

export const LIST_FLAGS = {
  json: { type: "boolean", description: "print JSON" },
  ...SERVER_FLAGS,
} as const satisfies ArgsDef;

/** `sandpy sessions list` */
export const listCommand = defineCommand<ArgsDef>({
  meta: { name: "list", description: "List your sessions, or all where you are an admin of the server." },
  args: LIST_FLAGS,
  run: ({ args, data }) => listSessions(args, data),
});

/** Prints the sessions, the newest first. */
export async function listSessions(
  args: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  const { sessions } = await (await reachSessions(args, context)).list();
  if (args["json"] === true) return printJson(io, { sessions });
  return print(io, renderSessions(sessions, screenOf(io)));
}

const COLUMNS = [
  { title: "ID", minWidth: undefined },
  { title: "STATE", minWidth: undefined },
  { title: "MEMORY", minWidth: undefined },
  { title: "AGE", minWidth: undefined },
  { title: "IDLE", minWidth: undefined },
  { title: "RUNS", minWidth: undefined },
  { title: "CALLER", minWidth: 8 },
  { title: "CODE", minWidth: 16 },
] as const;

function renderSessions(sessions: readonly SessionSummary[], screen: Screen): string {
  if (sessions.length === 0) return "There is no session.\n";
  const rows = sessions.map((session) => [
    printable(session.id),
    session.state,
    session.memory_bytes === null ? "-" : `${Math.ceil(session.memory_bytes / MEBIBYTE)} MiB`,
    renderAge(session.age_seconds),
    session.state === "running" ? "-" : renderAge(session.idle_seconds),
    String(session.executions),
    printable(session.caller),
    session.code === null ? "-" : printable(session.code),
  ]);
  return `${renderTable(COLUMNS, rows, screen).join("\n")}\n`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
] as const;

/** The largest unit and the next one: `12s`, `3m 4s`, `2h 5m`. */
function renderAge(seconds: number): string {
  const at = UNITS.findIndex(([, each]) => seconds >= each);
  const [unit, size] = UNITS[at] ?? ["s", 1];
  if (size === 1) return `${seconds}s`;
  const [lesser, lesserSize] = UNITS[at + 1] ?? ["s", 1];
  const rest = Math.floor((seconds % size) / lesserSize);
  return `${Math.floor(seconds / size)}${unit}${rest === 0 ? "" : ` ${rest}${lesser}`}`;
}
