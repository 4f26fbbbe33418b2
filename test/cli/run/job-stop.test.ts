import { expect, test } from "bun:test";
import { JobStop } from "../../../src/cli/run/job-stop.ts";

test("takes a signal that comes at once after another for the same wish, as of timeout(1), and a later one for another", () => {
  let nowMs = 1000;
  const stop = new JobStop(() => nowMs);
  const state = () => [stop.name, stop.program.aborted, stop.all.aborted];
  expect(state()).toEqual([undefined, false, false]);
  stop.note("SIGINT");
  stop.note("SIGINT");
  nowMs += 200;
  stop.note("SIGTERM");
  expect(state()).toEqual(["SIGINT", true, false]);
  nowMs += 100;
  stop.note("SIGTERM");
  expect(state()).toEqual(["SIGINT", true, true]);
});

test("takes the first signal after the reader went away for a first one", () => {
  const stop = new JobStop();
  stop.endProgram();
  stop.note("SIGTERM");
  expect([stop.name, stop.program.aborted, stop.all.aborted]).toEqual(["SIGTERM", true, false]);
});
