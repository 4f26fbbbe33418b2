import { describe, expect, test } from "bun:test";
import {
  atLeast,
  atMost,
  type Comparison,
  exitCodeOf,
  judge,
  ratioOf,
  type Target,
  valueAtMost,
} from "../../scripts/benchmarks/comparison.ts";
import { type KeptRuns, mergeRuns, type Run } from "../../scripts/benchmarks/kept.ts";
import { median, p95, quantile, sums, takeTurns } from "../../scripts/benchmarks/statistics.ts";
import { renderJson, renderTable } from "../../scripts/benchmarks/table.ts";

function comparison(
  ours: readonly number[],
  theirs: readonly number[],
  target: Target = atMost(2),
): Comparison {
  return { bench: "warm", measured: "a call", yardstick: "its legs", unit: "ms", ours, theirs, target };
}

describe("statistics", () => {
  test.each([
    [[3], 0.5, 3],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[1, 2, 3], 0, 1],
    [[1, 2, 3], 1, 3],
    [[10, 20, 30, 40, 50], 0.95, 48],
    [[], 0.5, Number.NaN],
  ] as const)("of %p put the quantile %p at %p", (samples, q, expected) => {
    expect(quantile(samples, q)).toBe(expected);
  });

  test("do not let one outlier move the median", () => {
    expect(median([1, 1, 1, 1, 1000])).toBe(1);
    expect(p95(Array.from({ length: 101 }, (_, index) => index))).toBe(95);
  });

  test("add the legs of a yardstick round by round", () => {
    expect(sums([1, 2], [10, 20])).toEqual([11, 22]);
  });

  test("let the works take turns and leave the warm-up out", async () => {
    const order: string[] = [];
    const work = (name: string) => async () => order.push(name);

    const samples = await takeTurns({ rounds: 2, warmUp: 1 }, { a: work("a"), b: work("b") });

    expect(order.join("")).toBe("abbaab");
    expect(samples).toEqual({ a: [4, 5], b: [3, 6] });
  });
});

describe("a verdict", () => {
  test.each([
    ["at most", atMost(2, 0.25), 2, "met"],
    ["at most, within the tolerance", atMost(2, 0.25), 2.5, "close"],
    ["at most, beyond it", atMost(2, 0.25), 2.51, "missed"],
    ["at least", atLeast(0.4, 0.25), 0.4, "met"],
    ["at least, within the tolerance", atLeast(0.4, 0.25), 0.31, "close"],
    ["at least, beyond it", atLeast(0.4, 0.25), 0.29, "missed"],
    ["nothing measured", atMost(2), Number.NaN, "missed"],
    ["no target", undefined, 99, "shown"],
  ] as const)("on a ratio: %s", (_what, target, ratio, expected) => {
    const { target: _, ...row } = comparison([ratio], [1]);
    expect(judge(target === undefined ? row : { ...row, target })).toBe(expected);
  });

  test("on a value pays no heed to the yardstick", () => {
    expect(judge(comparison([200], [1], valueAtMost(200)))).toBe("met");
    expect(judge(comparison([201], [1], valueAtMost(200)))).toBe("missed");
  });

  test("comes from the medians", () => {
    expect(ratioOf(comparison([1, 4, 100], [2, 2, 2]))).toBe(2);
  });

  test.each([
    ["all met", [comparison([1], [1])], 0, 0],
    ["one close", [comparison([2.1], [1])], 0, 0],
    ["one missed", [comparison([1], [1]), comparison([9], [1])], 0, 1],
    ["a bench that failed", [comparison([1], [1])], 1, 1],
  ] as const)("makes the exit code: %s", (_what, comparisons, failures, expected) => {
    expect(exitCodeOf(comparisons, failures)).toBe(expected);
  });
});

describe("the table", () => {
  test("has medians, p95, ratio, target and verdict", () => {
    const rows = [comparison([1, 2, 3], [1]), comparison([9000], [1000], atMost(3))];

    expect(renderTable(rows).split("\n")).toEqual([
      "| bench | measured |  median |  p95 | yardstick |  median |  p95 | ratio | target | met |",
      "| ----- | -------- | ------: | ---: | --------- | ------: | ---: | ----: | ------ | --- |",
      "| warm  | a call   |    2 ms |  2.9 | its legs  |    1 ms |    1 |   2 × | ≤ 2 ×  | yes |",
      "| warm  | a call   | 9000 ms | 9000 | its legs  | 1000 ms | 1000 |   9 × | ≤ 3 ×  | NO  |",
    ]);
  });

  test("is there as JSON too, with the samples", () => {
    const [row] = JSON.parse(renderJson([comparison([1, 2, 3], [1])]));

    expect(row).toMatchObject({ bench: "warm", median: 2, ratio: 2, verdict: "met", ours: [1, 2, 3] });
  });
});

describe("a kept run", () => {
  const machine = { processors: "2 × x", memoryGib: 8, system: "Linux 6.1 x64", bun: "1" };
  const podman = { name: "podman", what: "5, as root, crun", python: "CPython 3.14.0" } as const;
  const docker = { name: "docker", what: "29, as root, runc", python: "CPython 3.14.0" } as const;
  const monday: Run = { machine, engine: podman, measuredAt: "monday", commit: "a" };
  const tuesday: Run = { ...monday, measuredAt: "tuesday", commit: "b" };
  const first = mergeRuns(undefined, [comparison([1, 3], [1])], monday);

  test("has what was measured, and no samples", () => {
    expect(first.machine).toEqual(machine);
    expect(first.engines.podman).toMatchObject({ what: podman.what, python: podman.python });
    expect(first.engines.podman?.benches["warm"]).toEqual({
      measuredAt: "monday",
      commit: "a",
      rows: [
        {
          measured: "a call",
          unit: "ms",
          samples: 2,
          median: 2,
          p95: 2.9,
          yardstick: "its legs",
          yardstickMedian: 1,
          yardstickP95: 1,
          ratio: 2,
          target: { of: "ratio", "at most": 2 },
          verdict: "met",
        },
      ],
    });
  });

  const other = { ...comparison([], []), bench: "first" };
  const dates = (kept: KeptRuns) =>
    Object.entries(kept.engines).flatMap(([engine, { benches }]) =>
      Object.entries(benches).map(([bench, { measuredAt }]) => `${engine} ${bench} ${measuredAt}`),
    );

  test("replaces the same benches alone", () => {
    expect(dates(mergeRuns(first, [other], tuesday))).toEqual(["podman warm monday", "podman first tuesday"]);
    expect(dates(mergeRuns(first, [comparison([5], [5])], tuesday))).toEqual(["podman warm tuesday"]);
  });

  test.each<[string, Partial<Run>, readonly string[]]>([
    [
      "stands beside that of another engine",
      { engine: docker },
      ["podman warm monday", "docker first tuesday"],
    ],
    [
      "is not mixed with one of another version",
      { engine: { ...podman, what: "6" } },
      ["podman first tuesday"],
    ],
    [
      "is not mixed with one of another Python",
      { engine: { ...podman, python: "CPython 3.9.1" } },
      ["podman first tuesday"],
    ],
    [
      "is not mixed with one of another machine",
      { engine: docker, machine: { ...machine, memoryGib: 16 } },
      ["docker first tuesday"],
    ],
  ])("%s", (_what, changed, expected) => {
    expect(dates(mergeRuns(first, [other], { ...tuesday, ...changed }))).toEqual([...expected]);
  });

  test("has null where nothing was measured", () => {
    const [row] = mergeRuns(undefined, [other], tuesday).engines.podman?.benches["first"]?.rows ?? [];
    expect(row).toMatchObject({ median: null, ratio: null, verdict: "missed" });
  });
});
