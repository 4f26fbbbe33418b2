import type { ArgDef, ArgsDef } from "citty";
import { MANY, REST, shownHint } from "./arguments.ts";
import { aliasesOf, type CommandNode, nameOf, summaryOf } from "./command-tree.ts";
import type { Example } from "./examples.ts";
import { type Screen, wrapText } from "./table.ts";

type Row = readonly [left: string, right: string];

/** Renders a help page as plain text, with a newline at its end. */
export function renderHelp(node: CommandNode, screen: Screen): string {
  const { description, commands, examples } = node;
  return [
    `${description}\n`,
    `${screen.style.bold("Usage:")} ${renderUsage(node)}\n`,
    renderRows(screen, "Arguments", argumentRows(node)),
    renderRows(
      screen,
      "Commands",
      commands.map((command) => [nameOf(command), summaryOf(command)]),
    ),
    renderRows(screen, "Flags", flagRows(node)),
    renderExamples(screen, examples),
  ]
    .filter((section) => section !== "")
    .join("\n");
}

/** How a command is typed, in one line. */
export function renderUsage({ path, args, commands }: CommandNode): string {
  const words = [
    path,
    commands.length > 0 ? "[command]" : "",
    "[flags]",
    ...positionalsOf(args).map(([name, arg]) => renderPositional(name, arg)),
  ];
  return words.filter((word) => word !== "").join(" ");
}

/** What stands for each argument, and what it is. */
export function argumentRows({ args }: CommandNode): readonly Row[] {
  return positionalsOf(args).map(([name, arg]) => [name.toUpperCase(), arg.description ?? ""]);
}

/** Each flag, with what follows it, and what it does. */
export function flagRows({ args }: CommandNode): readonly Row[] {
  const flags = Object.entries(args).filter(([, arg]) => arg.type !== "positional");
  return [
    ...flags.map(([name, arg]): Row => [renderFlag(name, arg), arg.description ?? ""]),
    ["-h, --help", "show this help"],
  ];
}

function renderExamples({ style }: Screen, examples: readonly Example[]): string {
  if (examples.length === 0) return "";
  return `${style.bold("Examples:")}\n${examples.map(([command, says]) => `  ${command}\n      ${says}\n`).join("")}`;
}

function positionalsOf(args: ArgsDef): readonly (readonly [string, ArgDef])[] {
  return Object.entries(args).filter(([, arg]) => arg.type === "positional");
}

function renderPositional(name: string, arg: ArgDef): string {
  if (name === REST) return "[-- ARGS]";
  if (arg.valueHint === MANY) return `[${name.toUpperCase()}…]`;
  return arg.required === false ? `[${name.toUpperCase()}]` : name.toUpperCase();
}

function renderFlag(name: string, arg: ArgDef): string {
  const alias = aliasesOf(arg)
    .map((each) => `-${each}, `)
    .join("");
  return `${alias}--${name}${arg.type === "boolean" ? "" : ` <${shownHint(arg, name)}>`}`;
}

function renderRows({ width: columns, style }: Screen, title: string, rows: readonly Row[]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(
    ([left, right]) => `  ${left.padEnd(width)}  ${wrapText(right, width + 4, columns)}`,
  );
  return [style.bold(`${title}:`), ...lines, ""].join("\n");
}
