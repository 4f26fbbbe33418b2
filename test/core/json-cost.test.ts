import { describe, expect, test } from "bun:test";
import { costOfJson, MAX_COST_OF_CHAR } from "../../src/core/json-cost.ts";
import { patient } from "../helpers/patient.ts";

const MIB = 1024 * 1024;

describe("the cost of JSON", () => {
  test.each<[string, string, number]>([
    ["text alone is its length", '"a,b:c[d]{e}"', 13],
    ["a quote that is escaped ends no text", String.raw`"a\",[[[["`, 10],
    ["a backslash that is escaped escapes no quote", String.raw`"a\\",0`, 7 + 32],
    ["an array costs beside its elements", "[1,2,3]", 7 + 96 + 2 * 32],
    ["an object costs beside its members", '{"a":1}', 7 + 96 + 1000],
    ["an object like another costs less", '[{"a":1},{"a":2}]', 17 + 96 + 2 * 96 + 1000 + 32 + 24],
    ["text without an end is not read further", '"a,b', 4],
    ["nothing costs nothing", "", 0],
  ])("%s", (_title, text, cost) => {
    expect(costOfJson(text)).toBe(cost);
  });

  test.each<[string, string]>([
    ["empty arrays", `[${"[],".repeat(2e6)}0]`],
    ["empty objects", `[${"{},".repeat(2e6)}0]`],
    ["names that are all different", `{${Array.from({ length: 1e6 }, (_, at) => `"${at}":0`).join()}}`],
    ["numbers that are kept as text", `[${"1e999,".repeat(2e6)}0]`],
  ])("of %s is beyond what a frame may cost, though the text is small", (_title, text) => {
    expect(text.length).toBeLessThan(16 * MIB);
    expect(costOfJson(text, true)).toBeGreaterThan(128 * MIB);
  });

  test.each<[string, string]>([
    ["a program of 16 MiB", JSON.stringify({ code: 'x = {"a": [1, 2]}\n'.repeat(900_000) })],
    ["a million numbers", JSON.stringify(Array.from({ length: 1e6 }, (_, at) => at))],
    ["300,000 small records", JSON.stringify(Array.from({ length: 300_000 }, (_, n) => ({ n, s: "text" })))],
    [
      "30,000 records of ten fields",
      JSON.stringify(
        Array.from({ length: 30_000 }, (_, at) =>
          Object.fromEntries(Array.from("abcdefghij", (name) => [name, at])),
        ),
      ),
    ],
  ])("of %s is not", (_title, text) => {
    expect(costOfJson(text)).toBeLessThan(128 * MIB);
  });

  test("is at most so much a character, so that nobody needs to look at what is short", () => {
    const pieces = ['"', ":", ",", "[", "{", "}", "]", "a", "\\", "1", "e", '":'];
    for (let round = 0; round < 2000; round += 1) {
      const text = Array.from({ length: 40 }, () => pieces[Math.floor(Math.random() * pieces.length)]).join(
        "",
      );
      expect([text, costOfJson(text, true) <= text.length * MAX_COST_OF_CHAR]).toEqual([text, true]);
    }
  });

  test("is found in a time that grows with the length alone", () => {
    const startedAt = performance.now();
    costOfJson(`"${"\\\\".repeat(8 * MIB)}`);
    costOfJson('"\\'.repeat(8 * MIB));
    expect(performance.now() - startedAt).toBeLessThan(patient(2000));
  });
});
