import { expect, test } from "bun:test";
import { ProgressStream, type ProgressUpdate } from "../../src/mcp/progress.ts";
import { until } from "../helpers/until.ts";

test("progress counts output that was left out before it came, and shows the gap", async () => {
  const updates: ProgressUpdate[] = [];
  const stream = new ProgressStream(async (update) => void updates.push(update));
  stream.append("head\n");
  await until("the first update", () => updates.length === 1);
  stream.append("tail\n", 1000);
  await until("the second update", () => updates.length === 2);
  stream.stop();
  expect(updates).toEqual([
    { progress: 5, message: "head\n" },
    { progress: 1010, message: "\n… 1000 characters left out …\ntail\n" },
  ]);
});
