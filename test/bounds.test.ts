/** docs/bounds.md tells the truth: each bound is in the code as it says, and a test names the promise that it reaches. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const ROW = /^\| (.+?) +\| .+? +\| `(\S+)` `(.+?)` +\| `(\S+)` ([A-Z]+-\d+) +\|$/gm;

const rows = [...readFileSync(join(ROOT, "docs/bounds.md"), "utf8").matchAll(ROW)].map(
  ([, what = "", source = "", text = "", reachedBy = "", id = ""]) => ({
    what,
    source,
    text,
    reachedBy,
    id,
  }),
);
const read = (path: string) => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), "utf8") : "");

test("the table has rows", () => {
  expect(rows.length).toBeGreaterThan(20);
});

test.each(rows)("of $what is in $source, and reached by $reachedBy", ({ source, text, reachedBy, id }) => {
  expect(read(source)).toContain(text);
  expect(read(reachedBy)).toMatch(new RegExp(`\\b${id}\\b`));
});
