import { GUIDE } from "../../config/guide.ts";
import { SETTING_NAMES, SETTINGS } from "../../config/schema.ts";
import { type CommandNode, flatten } from "../command-tree.ts";
import { argumentRows, flagRows, renderUsage } from "../render-help.ts";
import { EXIT_STATUS, RUN_EXIT_STATUS } from "./exit-status.ts";

/** With room for escapes: mandoc complains of more than 80. */
const MAX_LINE_CHARS = 70;

type Row = readonly [left: string, right: string];

export interface ManOptions {
  readonly date: Date;
}

const FILES: readonly Row[] = [
  ["~/.config/sandpy/config.jsonc", 'settings; "sandpy config path" tells the real place'],
  ["~/MCPs/*.json", "definitions of MCP servers"],
  ["~/MCPs/user_tools", "what Python keeps: memories and saved tools"],
  ["~/.local/share/sandpy", "sign-ins, trusted projects and the audit of calls"],
  ["~/.cache/sandpy", "what servers said of their tools"],
];

/** Renders the manual page of section 1 in mdoc(7). */
export function renderMan(tree: CommandNode, { date }: ManOptions): string {
  const commands = flatten(tree).slice(1);
  return [
    '.\\" Made by "sandpy __manual man"; changes belong in the declarations of the commands.',
    `.Dd ${date.toLocaleDateString("en-US", { year: "numeric", month: "long", day: "numeric", timeZone: "UTC" })}`,
    ".Dt SANDPY 1",
    ".Os",
    ".Sh NAME",
    ".Nm sandpy",
    ".Nd run Python in a sandbox that calls MCP servers",
    ".Sh SYNOPSIS",
    ".Nm",
    ".Op Ar command",
    ".Op Ar flags",
    ".Sh DESCRIPTION",
    paragraphs(tree.description),
    ".Pp",
    "The flags without a command are:",
    tagged(flagRows(tree)),
    ".Sh COMMANDS",
    ...commands.map(renderCommand),
    ".Sh ENVIRONMENT",
    "A setting is a variable, a key of the settings file, or a flag.",
    "A flag counts more than a variable, and a variable more than the file.",
    tagged(
      SETTING_NAMES.map((name): Row => {
        const { key } = SETTINGS[name];
        return [name, key === undefined ? GUIDE[name].about : `${GUIDE[name].about} Key: ${key}.`];
      }),
    ),
    ".Sh FILES",
    tagged(FILES),
    ".Sh EXIT STATUS",
    tagged(EXIT_STATUS),
    ".Pp",
    "The exit status of",
    ".Cm run",
    "is that of the program; beside that:",
    tagged(RUN_EXIT_STATUS),
    ".Sh EXAMPLES",
    ...tree.examples.map((example, index) => renderExample(example).slice(index === 0 ? ".Pp\n".length : 0)),
    ".Sh SEE ALSO",
    ".Xr docker 1 ,",
    ".Xr podman 1",
    "",
  ].join("\n");
}

function renderCommand(node: CommandNode): string {
  const rows = [...argumentRows(node), ...flagRows(node).filter(([flag]) => flag !== "-h, --help")];
  return [
    `.Ss ${text(node.path)}`,
    ".Bd -literal -compact",
    text(renderUsage(node)),
    ".Ed",
    ".Pp",
    paragraphs(node.description),
    ...(rows.length === 0 ? [] : [tagged(rows)]),
    ...node.examples.map(renderExample),
  ].join("\n");
}

function renderExample([command, says]: Row): string {
  return [
    ".Pp",
    `${text(capitalized(says))}:`,
    ".Bd -literal -offset indent -compact",
    text(command),
    ".Ed",
  ].join("\n");
}

/** A list in which each left side stands out, with the right side below it. */
function tagged(rows: readonly Row[]): string {
  const items = rows.map(([left, right]) => `.It Sy ${argument(left)}\n${paragraphs(capitalized(right))}`);
  return [".Bl -tag -width Ds -offset indent", ...items, ".El"].join("\n");
}

/** Filled text. Sentences begin in lines of their own, and no line is long, as mdoc wants it. */
function paragraphs(words: string): string {
  return words
    .split("\n")
    .flatMap((line) => line.split(/(?<=[.!?]) (?=[A-Z])/))
    .flatMap(folded)
    .map(text)
    .join("\n");
}

function folded(line: string): string[] {
  const lines: string[] = [];
  for (const word of line.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > MAX_LINE_CHARS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Text of a line: nothing of it is a request or an escape. */
function text(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1");
}

/** One argument of a macro: not a macro itself, and not taken apart. */
function argument(words: string): string {
  return `"\\&${text(words).replaceAll('"', '""')}"`;
}

function capitalized(words: string): string {
  return words.replace(/^[a-z](?=[a-z]*[\s,;:]|$)/, (first) => first.toUpperCase());
}
