import { describe, expect, test } from "bun:test";
import { type ResumeRun, SuspendedRuns } from "../../src/mcp/suspended-runs.ts";

const MIB = 1024 ** 2;
const resume: ResumeRun = async () => ({ content: [], structuredContent: {} });

function keep(runs: SuspendedRuns, callerId: string, count: number, chars?: number): readonly string[] {
  const tokens = Array.from({ length: count }, (_, at) => `${callerId}-${at}`);
  for (const token of tokens) {
    runs.keep(callerId, token, resume);
    if (chars !== undefined) runs.end(callerId, token, chars);
  }
  return tokens;
}
const left = (runs: SuspendedRuns, callerId: string, tokens: readonly string[]) =>
  tokens.filter((token) => runs.take(callerId, token) !== undefined);

describe("NBR-12: runs that wait for their client", () => {
  test("are taken once, by their caller alone", () => {
    const runs = new SuspendedRuns();
    const [token = ""] = keep(runs, "ann", 1);
    expect([runs.take("bob", token), runs.take("ann", token), runs.take("ann", token)]).toEqual([
      undefined,
      resume,
      undefined,
    ]);
  });

  test("are 64 of one caller at most, whose number takes nothing from others", () => {
    const runs = new SuspendedRuns();
    const bobs = keep(runs, "bob", 1);
    const anns = keep(runs, "ann", 100);
    expect(left(runs, "ann", anns)).toEqual([...anns.slice(36)]);
    expect(left(runs, "bob", bobs)).toEqual([...bobs]);
  });

  test("and have ended hold 32 MiB in all: the oldest are let go, and none that goes on", () => {
    const runs = new SuspendedRuns();
    const going = keep(runs, "ann", 10);
    const large = keep(runs, "bob", 40, MIB);
    expect(left(runs, "bob", large)).toEqual([...large.slice(8)]);
    const huge = keep(runs, "eve", 1, 40 * MIB);
    expect(left(runs, "eve", huge)).toEqual([]);
    expect(left(runs, "ann", going)).toEqual([...going]);
    expect(left(runs, "bob", keep(runs, "bob", 32, MIB))).toHaveLength(32); // what was taken counts no more
  });

  test("and have ended are let go of the caller who has most", () => {
    const runs = new SuspendedRuns();
    const anns = keep(runs, "ann", 3, MIB);
    const bobs = keep(runs, "bob", 40, MIB);
    expect(left(runs, "ann", anns)).toEqual([...anns]);
    expect(left(runs, "bob", bobs)).toEqual([...bobs.slice(11)]);
  });
});
