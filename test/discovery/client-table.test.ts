import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENTS } from "../../src/discovery/clients/table.ts";
import type { PathPattern } from "../../src/discovery/places.ts";

const DOCUMENT = join(import.meta.dir, "../../docs/clients.md");
const HEADING = "## The files";
const PLATFORMS = { linux: "Linux", darwin: "macOS", win32: "Windows" } as const;

/** The list of the documentation, made from the table in the code. */
function renderList(): string {
  return CLIENTS.map(({ client, paths, layout, isFirstOnly }) => {
    const key = layout === undefined ? "only switches" : `\`${layout.label}\``;
    const files = paths.flatMap(renderPattern).map((path) => `\n  - ${path}`);
    return `- **${client}**, ${key}${isFirstOnly ? "; the first file that exists" : ""}:${files.join("")}`;
  }).join("\n");
}

function renderPattern(pattern: PathPattern): string[] {
  if (typeof pattern === "string") return [`\`${pattern}\``];
  const systems = Object.entries(pattern) as readonly [keyof typeof PLATFORMS, string][];
  const byPath = Map.groupBy(systems, ([, path]) => path);
  return Array.from(
    byPath,
    ([path, found]) => `\`${path}\` (${found.map(([platform]) => PLATFORMS[platform]).join(", ")})`,
  );
}

test("docs/clients.md lists the files of the code", () => {
  const text = readFileSync(DOCUMENT, "utf8");
  const [before = ""] = text.split(`\n${HEADING}\n`);
  const wanted = `${before}\n${HEADING}\n\n${renderList()}\n`;
  // To bring the document up to date: SANDPY_UPDATE_DOCS=1 bun test test/discovery/client-table.test.ts
  if (process.env["SANDPY_UPDATE_DOCS"] === "1") writeFileSync(DOCUMENT, wanted);
  else expect(text).toBe(wanted);
});
