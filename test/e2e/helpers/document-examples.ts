import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../../..");
/** Shells; an indented block is one too. */
const SHELLS = new Set(["sh", "bash", "console"]);
/** Where the explanation of a command begins, in an indented block: two spaces, which no command of ours has in itself. */
const EXPLANATION = /\s{2,}(?:#.*|\S.*)?$/;
/** How a command is called, with what may be left out: no example, and `docs/cli.md` is full of it. */
const SYNOPSIS = /^sandpy\b.*\[(?:flags|command)\]/;

/** Something in a document that readers will try. */
export interface Example {
  /** `command`, or the language that its fence names. */
  readonly kind: string;
  readonly text: string;
  /** Path of the document and the line where it begins. */
  readonly place: string;
  readonly document: string;
}

/** The documents that users read: the README and `docs/`. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

/** Every example of a document, in order: each command by itself, all else by its block. */
export function readExamples(document: string): readonly Example[] {
  const lines = readFileSync(join(ROOT, document), "utf8").split("\n");
  const examples: Example[] = [];
  const add = (kind: string, text: string, index: number) =>
    examples.push({
      kind,
      text: kind === "command" ? text.replace(/\s+# .*$/, "") : text,
      place: `${document}:${index + 1}`,
      document,
    });
  for (let index = 0; index < lines.length; index++) {
    const fence = /^```(\w*)$/.exec(lines[index] ?? "");
    if (fence !== null) {
      const end = lines.indexOf("```", index + 1);
      if (end < 0) throw new Error(`${document}:${index + 1}: a fence that does not end`);
      const block = lines.slice(index + 1, end);
      if (SHELLS.has(fence[1] ?? "")) addCommands(block, index + 1, add);
      else add(fence[1] ?? "", block.join("\n"), index);
      index = end;
    } else if (/^ {4}\S/.test(lines[index] ?? "") && (lines[index - 1] ?? "") === "") {
      let end = index;
      while (/^ {4}|^$/.test(lines[end] ?? "x")) end++;
      const block = lines.slice(index, end).map((line) => line.slice(4));
      addCommands(block, index, (kind, text, at) => add(kind, text.replace(EXPLANATION, ""), at));
      index = end - 1;
    }
  }
  return examples;
}

type Add = (kind: string, text: string, index: number) => void;

/** One command a line; of a transcript, in which they have a `$`, the rest is what they print. */
function addCommands(block: readonly string[], start: number, add: Add): void {
  const isTranscript = block.some((line) => line.startsWith("$ "));
  for (const [offset, line] of block.entries()) {
    const command = isTranscript ? /^\$ (.*)/.exec(line)?.[1] : line;
    // What begins with a space goes on with the explanation of the line before.
    if (command === undefined || /^(?:\s|#|$)/.test(command) || SYNOPSIS.test(command)) continue;
    add("command", command, start + offset);
  }
}
