import { expect, test } from "bun:test";
import { Usage } from "../../src/memory/usage.ts";
import { createStateDir, failureOf } from "./helpers.ts";

test("EXH-6: what is written where a count has passed already counts", async () => {
  using state = createStateDir();
  const usage = new Usage(state.path, 1000);
  const counting = usage.admit("a look", { before: undefined, after: 1 });
  usage.changed(undefined, 900); // the count finds nothing of it
  await counting;
  expect(await failureOf(usage.admit("saving x", { before: undefined, after: 500 }))).toContain(
    "saving x needs 500 bytes more, but 900 bytes of the 1000 bytes of /projects are in use",
  );
});
