import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { styleFor } from "../../src/cli/style.ts";

test.each<[Record<string, string>, boolean, boolean]>([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "" }, true, true],
  [{ TERM: "dumb" }, true, false],
  [{ TERM: "xterm" }, true, true],
  [{ CLICOLOR: "0" }, true, false],
  [{ CLICOLOR_FORCE: "1" }, false, true],
  [{ CLICOLOR_FORCE: "0" }, false, false],
  [{ CLICOLOR_FORCE: "1", NO_COLOR: "1" }, false, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "1", NO_COLOR: "1", TERM: "dumb" }, false, true],
  [{ FORCE_COLOR: "0" }, true, false],
  [{ FORCE_COLOR: "false" }, true, false],
])("with %j, on a terminal: %p, there are colours: %p", (env, isTTY, coloured) => {
  const stream = Object.assign(new PassThrough(), { isTTY });
  expect(styleFor({ env }, stream).red("x")).toBe(coloured ? "\u001b[31mx\u001b[39m" : "x");
});
