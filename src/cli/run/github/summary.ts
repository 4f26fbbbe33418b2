import type { JobResult } from "../job-result.ts";
import { remarks } from "../report.ts";

const MAX_ROWS = 50;
const MAX_BLOCK_CHARS = 8000;
const MAX_CELL_CHARS = 200;

/** What GitHub shows of a job on the page of the workflow: Markdown, with all that came from the program as plain text. */
export function renderSummary(name: string, result: JobResult): string {
  const { outcome, exitCode, files, calls } = result;
  const said = remarks(result);
  const seconds = (outcome.durationMs / 1000).toFixed(1);
  return [
    `### ${exitCode === 0 ? "✅" : "❌"} sandpy run ${cell(name)}\n`,
    `Status \`${outcome.status}\`, exit code ${exitCode}, ${seconds} s.\n`,
    ...(outcome.error === null ? [] : [block(outcome.error.traceback)]),
    ...(said.length === 0 ? [] : [block(said.join("\n"))]),
    ...(calls.count === 0
      ? []
      : [
          `${calls.count} calls of MCP servers:\n`,
          table(
            ["server", "tool", "outcome", "ms"],
            calls.calls.map((call) => [
              call.server,
              call.tool ?? call.method,
              call.outcome,
              `${call.durationMs}`,
            ]),
          ),
        ]),
    ...(files.length === 0
      ? []
      : [
          `${files.length} files:\n`,
          table(
            ["file", "bytes", "sha256"],
            files.map((file) => [file.path, `${file.size}`, file.sha256]),
          ),
        ]),
    "",
  ].join("\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.slice(0, MAX_ROWS).map((row) => `| ${row.map(cell).join(" | ")} |`);
  const more = rows.length > MAX_ROWS ? [`\n… and ${rows.length - MAX_ROWS} more`] : [];
  return [`| ${head.join(" | ")} |`, `|${" --- |".repeat(head.length)}`, ...lines, ...more, ""].join("\n");
}

/** Every character that Markdown or HTML could act on is written as its number. */
function cell(text: string): string {
  return text
    .slice(0, MAX_CELL_CHARS)
    .toWellFormed()
    .replace(/\p{Cc}/gu, "�")
    .replace(/[^\p{L}\p{N} /.…-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

/** Plain text, fenced by more back quotes than it has in a row. */
function block(text: string): string {
  const tail = text.length > MAX_BLOCK_CHARS ? `…${text.slice(-MAX_BLOCK_CHARS)}` : text;
  const longest = Math.max(2, ...[...tail.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${tail.toWellFormed().trimEnd()}\n${fence}\n`;
}
