import { type CommandNode, flatten } from "../command-tree.ts";
import { argumentRows, flagRows, renderUsage } from "../render-help.ts";
import { EXIT_STATUS, RUN_EXIT_STATUS } from "./exit-status.ts";

type Row = readonly [left: string, right: string];

/** Renders docs/cli.md. */
export function renderMarkdown(tree: CommandNode): string {
  const [, ...commands] = flatten(tree);
  return `# The command line

<!-- Made by ./scripts/docs from what the commands declare of themselves; a test says when it is due. -->

${tree.description}
What flags set can also stand in variables and a file: [config.md](config.md).

${codeBlock(renderUsage(tree))}
${renderTable("command", "what it does", commands.map(commandRow))}
Every command takes \`--help\`. What was asked for goes to stdout, all else to stderr; \`--json\` is for scripts, and output in a pipe is
never cut to the width of a terminal. Colours are for terminals: \`NO_COLOR=1\` turns them off, \`FORCE_COLOR=1\` on.

${renderExamples(tree)}
${commands.map(renderCommand).join("\n")}
## Exit codes

${renderTable("code", "meaning", EXIT_STATUS)}
\`sandpy run\` ends with the exit code of the program. Beside that:

${renderTable("code", "meaning", RUN_EXIT_STATUS)}`;
}

function commandRow({ path, description }: CommandNode): Row {
  return [`[\`${path}\`](#${path.replaceAll(" ", "-")})`, description.split("\n", 1)[0] ?? ""];
}

function renderCommand(node: CommandNode): string {
  const flags = flagRows(node).filter(([flag]) => flag !== "-h, --help");
  return [
    `## ${node.path}\n`,
    `${escapeCell(node.description.replaceAll("\n", " "))}\n`,
    codeBlock(renderUsage(node)),
    ...tableOf("argument", argumentRows(node)),
    ...tableOf("flag", flags),
    renderExamples(node),
  ].join("\n");
}

function tableOf(title: string, rows: readonly Row[]): string[] {
  return rows.length === 0
    ? []
    : [
        renderTable(
          title,
          "what it is",
          rows.map(([left, right]) => [`\`${left}\``, right]),
        ),
      ];
}

/** Its columns stand below each other, as the formatter of the repository has them. */
function renderTable(left: string, right: string, rows: readonly Row[]): string {
  const cells = [
    [left, right],
    ...rows.map(([first, second]) => [first.replaceAll("|", "\\|"), escapeCell(second)]),
  ];
  const widths = [0, 1].map((at) => Math.max(3, ...cells.map((row) => Bun.stringWidth(row[at] ?? ""))));
  const line = (words: readonly string[], fill = " ") =>
    `| ${words.map((word, at) => word + fill.repeat((widths[at] ?? 0) - Bun.stringWidth(word))).join(" | ")} |
`;
  const [head = [], ...body] = cells;
  return [line(head), line(["", ""], "-"), ...body.map((row) => line(row))].join("");
}

function renderExamples({ examples }: CommandNode): string {
  if (examples.length === 0) return "";
  const width = Math.max(...examples.map(([command]) => command.length));
  return codeBlock(examples.map(([command, says]) => `${command.padEnd(width)}  # ${says}`).join("\n"));
}

function codeBlock(text: string): string {
  return `\`\`\`sh\n${text}\n\`\`\`\n`;
}

/** Nothing of it is markup. */
function escapeCell(text: string): string {
  return text.replaceAll(/[|*_<>]/g, (character) => `\\${character}`);
}
