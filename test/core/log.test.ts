import { describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog, type LogFormat, type LogLevel } from "../../src/core/log.ts";
import { outsideRuns, withinRun } from "../../src/core/run-context.ts";

const RUN = { requestId: "r1", callerId: "token:ada", sessionId: "s1", executionId: "e1" };
const IDS = { request: "r1", caller: "token:ada", session: "s1", execution: "e1" };

function open(level: LogLevel, format?: LogFormat) {
  const lines: string[] = [];
  const log = createLog(level, (line) => lines.push(line), format);
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("as text", () => {
  test("prints its level and those above, with quoted fields and no control characters", () => {
    const { log, lines } = open("WARNING");
    log.debug("no");
    log.info("no");
    log.warning("odd \u001b[2J thing", { server: "a b", count: 3, file: "/x/y.json", gone: undefined });
    log.error("bad", { text: "line\nline" });
    expect(lines).toEqual([
      'WARNING sandpy: odd \\u001b[2J thing server="a b" count=3 file=/x/y.json\n',
      'ERROR sandpy: bad text="line\\nline"\n',
    ]);
  });

  test.each([
    ["INFO", "INFO sandpy: done ms=1\n"],
    ["DEBUG", "INFO sandpy: done request=r1 caller=token:ada session=s1 execution=e1 ms=1\n"],
  ] as const)("at %s, says of which run it is only where it says all", (level, line) => {
    const { log, lines } = open(level);
    withinRun(RUN, () => log.info("done", { ms: 1 }));
    expect(lines).toEqual([line]);
  });
});

describe("as JSON", () => {
  test("is one object in a line, with time, level, message, the run's ids and the fields", () => {
    const { log, lines, entries } = open("INFO", "json");
    const before = Date.now();
    log.debug("no");
    log.info("at rest", { server: "fx", ms: 1.5, isNew: true, gone: undefined });
    withinRun(RUN, () => log.error("at work", { session: "another" }));
    expect(lines.every((line) => /^\{.*\}\n$/.test(line))).toBe(true);
    const time = expect.any(String);
    expect(entries()).toEqual([
      { time, level: "INFO", message: "at rest", server: "fx", ms: 1.5, isNew: true },
      { time, level: "ERROR", message: "at work", ...IDS, session: "another" },
    ]);
    const at = Date.parse(String(entries()[0]?.["time"]));
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  test("belongs to the run whose work it is, and to none where the work outlives it", async () => {
    const { log, entries } = open("INFO", "json");
    await Promise.all(
      ["e1", "e2"].map((executionId) =>
        withinRun({ executionId }, async () => {
          await sleep(1);
          log.info("its own");
          await outsideRuns(() => sleep(1).then(() => log.info("a server's")));
        }),
      ),
    );
    const of = (words: string) => entries().filter(({ message }) => message === words);
    expect(of("its own").map(({ execution }) => execution)).toEqual(["e1", "e2"]);
    expect(of("a server's").map(({ execution }) => execution)).toEqual([undefined, undefined]);
  });
});

describe.each(["text", "json"] as const)("untrusted words, as %s,", (format) => {
  test.each([
    ["a line's end", "a\r\nERROR sandpy: forged"],
    ["another kind of it", "a\u2028b\u2029c\u0085d"],
    ["a terminal's command", "\u001b]0;x\u0007 \u009b2J \u007f"],
    ["a change of direction", "a\u202eb\u2066c\u200f"],
    ["what is not seen", "a\u200bb\u00adc\u061cd\u2060e\ufefff\u{e0041}g\u3164h"],
    ["half a character", "a\ud800b"],
    ["the end of a string", 'a","level":"ERROR'],
  ])("NBR-13: do not forge a line by %s", (_what, words) => {
    const { log, lines, entries } = open("DEBUG", format);
    withinRun({ requestId: words }, () => log.info(words, { words }));
    expect(lines).toHaveLength(1);
    const [line = ""] = lines;
    expect(line).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029\u3164]*\n$/u);
    if (format === "json") {
      expect(entries()).toMatchObject([{ level: "INFO", message: words, words, request: words }]);
    }
  });

  test("are not without end", () => {
    const { log, lines } = open("INFO", format);
    log.info("m".repeat(1_000_000), { value: "v".repeat(1_000_000) });
    expect(lines[0]?.length).toBeLessThan(12_200);
  });
});
