import type { ArgDef, ArgsDef } from "citty";
import { MANY, REST, shownHint } from "./arguments.ts";

/** A command as its help page shows it. */
export interface HelpPage {
  /** The words that call it, such as `sandpy run`. */
  readonly path: string;
  readonly description: string;
  readonly args: ArgsDef;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
}

/** Renders a help page as plain text, with a newline at its end. */
export function renderHelp({ path, description, args, commands }: HelpPage): string {
  const entries = Object.entries(args);
  const positionals = entries.filter(([, arg]) => arg.type === "positional");
  const flags = entries.filter(([, arg]) => arg.type !== "positional");
  const words = [
    path,
    commands.length > 0 ? "[command]" : "",
    "[flags]",
    ...positionals.map(([name, arg]) => renderPositional(name, arg)),
  ];
  const flagRows = [
    ...flags.map(([name, arg]) => [renderFlag(name, arg), arg.description ?? ""] as const),
    ["-h, --help", "show this help"] as const,
  ];
  return [
    `${description}\n`,
    `Usage: ${words.filter((word) => word !== "").join(" ")}\n`,
    renderRows(
      "Arguments",
      positionals.map(([name, arg]) => [name.toUpperCase(), arg.description ?? ""]),
    ),
    renderRows(
      "Commands",
      commands.map(({ name, description }) => [name, description]),
    ),
    renderRows("Flags", flagRows),
  ]
    .filter((section) => section !== "")
    .join("\n");
}

function renderPositional(name: string, arg: ArgDef): string {
  if (name === REST) return "[-- ARGS]";
  if (arg.valueHint === MANY) return `[${name.toUpperCase()}…]`;
  return arg.required === false ? `[${name.toUpperCase()}]` : name.toUpperCase();
}

function renderFlag(name: string, arg: ArgDef): string {
  const alias = "alias" in arg && typeof arg.alias === "string" ? `-${arg.alias}, ` : "";
  return `${alias}--${name}${arg.type === "boolean" ? "" : ` <${shownHint(arg, name)}>`}`;
}

function renderRows(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([left]) => left.length));
  return [`${title}:`, ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`), ""].join("\n");
}
