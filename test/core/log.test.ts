import { expect, test } from "bun:test";
import { createLog } from "../../src/core/log.ts";

test("prints its level and those above, with quoted fields and no control characters", () => {
  const lines: string[] = [];
  const log = createLog("WARNING", (line) => lines.push(line));
  log.debug("no");
  log.info("no");
  log.warning("odd \u001b[2J thing", { server: "a b", count: 3, file: "/x/y.json", gone: undefined });
  log.error("bad", { text: "line\nline" });
  expect(lines).toEqual([
    'WARNING sandpy: odd \\u001b[2J thing server="a b" count=3 file=/x/y.json\n',
    'ERROR sandpy: bad text="line\\nline"\n',
  ]);
});
