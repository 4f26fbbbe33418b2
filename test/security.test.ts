/** Every promise of docs/security.md is held by a test, and every id that a test names is one of them. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const ID = /\b(?:ISO|EXH|FRG|STA|KEP|UPS|CLI|HOST|NBR|LEFT)-\d+\b/g;
const UNHELD = "## Not held by a test yet";

const document = readFileSync(join(ROOT, "docs/security.md"), "utf8");
const [promised = "", rest = ""] = document.split(UNHELD);
const [unheld = ""] = rest.split("\n## ");
/** The ids of the first column. */
const rowsOf = (text: string) => [...text.matchAll(/^\| ([A-Z]+-\d+) /gm)].map(([, id = ""]) => id);

const cited = new Map<string, string>();
for (const name of readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })) {
  if (!/\.(test\.ts|py)$/.test(name) || name === "security.test.ts") continue;
  for (const [id] of readFileSync(join(ROOT, "test", name), "utf8").matchAll(ID)) cited.set(id, name);
}

test("each promise has an id of its own", () => {
  const all = [...rowsOf(promised), ...rowsOf(unheld)];
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter((id, at) => all.indexOf(id) !== at)).toEqual([]);
});

test("each promise is held by a test", () => {
  expect(rowsOf(promised).filter((id) => !cited.has(id))).toEqual([]);
});

test("each id that a test names is promised", () => {
  const known = new Set(rowsOf(promised));
  expect([...cited].filter(([id]) => !known.has(id))).toEqual([]);
});
