import { describe, expect, test } from "bun:test";
import { decode } from "@toon-format/toon";
import type { RunResult } from "../../src/mcp/python-runner.ts";
import { renderRefusal, renderRunResult } from "../../src/mcp/render-result.ts";
import { NOTHING } from "../helpers/run-results.ts";

describe("a result", () => {
  const ERROR = { ename: "ValueError", evalue: "bad", traceback: "Traceback …\nValueError: bad" };

  test.each<[string, Partial<RunResult>, string, boolean]>([
    ["of nothing", {}, "(no output)", false],
    ["of stdout, as it is", { stdout: "a\n\n" }, "a\n\n", false],
    ["of stdout without a newline, and a value", { stdout: "a", result: "1" }, "a\n1", false],
    ["of stdout with a newline, and a value", { stdout: "a\n", result: "1" }, "a\n1", false],
    ["of a value", { result: "'x'" }, "'x'", false],
    ["of an empty value", { result: "" }, "(no output)", false],
    ["of stderr", { stderr: "w\n" }, "[stderr]\nw\n", false],
    [
      "of everything",
      { stdout: "o\n", stderr: "w\n", result: "1", notes: ["n", "m"] },
      "o\n1\n[stderr]\nw\n[note] n\n[note] m",
      false,
    ],
    ["of an exception", { status: "error", stdout: "o", error: ERROR }, `o\n${ERROR.traceback}`, true],
    [
      "of an exception without a traceback",
      { status: "error", error: { ...ERROR, traceback: "" } },
      "ValueError: bad",
      true,
    ],
    ["of sys.exit(0)", { status: "exit", exitCode: 0 }, "[exit] code 0", false],
    ["of sys.exit(3)", { status: "exit", exitCode: 3 }, "[exit] code 3", true],
    ["of a timeout that has notes", { status: "timeout", notes: ["after 5 s"] }, "[note] after 5 s", true],
    ["of a timeout that has none", { status: "timeout" }, "[timeout]", true],
    ["of a death", { status: "died", stdout: "o\n" }, "o\n[died]", true],
    ["of a cancellation", { status: "cancelled" }, "[cancelled]", true],
    ["of half a character", { stdout: "a\ud83d", result: "\ude00" }, "a\ufffd\n\ufffd", false],
  ])("%s reads well", (_title, result, text, isError) => {
    const { content, isError: failed = false } = renderRunResult({ ...NOTHING, ...result }, "compact");
    expect([content, failed]).toEqual([[{ type: "text", text }], isError]);
  });

  test.each<[string, Partial<RunResult>, object]>([
    ["of nothing", {}, { status: "success" }],
    [
      "of everything",
      { stdout: "o\n", stderr: "w", result: "1", notes: ["n"], truncated: true, durationMs: 12.4 },
      {
        status: "success",
        stdout: "o\n",
        stderr: "w",
        result: "1",
        notes: ["n"],
        truncated: true,
        durationMs: 12,
      },
    ],
    [
      "of an exception",
      { status: "error", error: ERROR },
      { status: "error", error: { type: "ValueError", message: "bad", traceback: ERROR.traceback } },
    ],
    ["of sys.exit(0)", { status: "exit", exitCode: 0 }, { status: "success", exitCode: 0 }],
    ["of sys.exit(3)", { status: "exit", exitCode: 3 }, { status: "error", exitCode: 3 }],
    ["of a timeout", { status: "timeout", notes: ["n"] }, { status: "timeout", notes: ["n"] }],
    ["of a cancellation", { status: "cancelled" }, { status: "cancelled" }],
    ["of a death", { status: "died", exitCode: 137 }, { status: "error", exitCode: 137 }],
    ["of half a character", { stdout: "a\ud83d" }, { status: "success", stdout: "a\ufffd" }],
  ])("%s is there for programs, without what is empty", (_title, result, expected) => {
    const { structuredContent } = renderRunResult({ ...NOTHING, ...result }, "compact");
    expect(structuredContent).toEqual({ durationMs: 0, ...expected });
  });

  test("is one TOON block where that is asked for, which decodes to the same", () => {
    const result = { ...NOTHING, stdout: "a: b\n- c\n", result: "[1, 2]", notes: ["one", "true"] };
    const { content, structuredContent } = renderRunResult(result, "toon");
    expect(content).toHaveLength(1);
    expect(decode((content[0] as { text: string }).text)).toEqual(structuredContent as never);
  });

  test("carries images, and drawings as their source", () => {
    const svg = Buffer.from("<svg/>").toString("base64");
    const images = [
      { mimeType: "image/png", data: "iVBO" },
      { mimeType: "image/svg+xml", data: svg },
    ];
    expect(renderRunResult({ ...NOTHING, images }, "compact").content).toEqual([
      { type: "text", text: "(no output but what is shown)" },
      { type: "image", data: "iVBO", mimeType: "image/png" },
      {
        type: "resource",
        resource: { uri: "sandpy://image/2.svg", mimeType: "image/svg+xml", text: "<svg/>" },
      },
    ]);
  });

  test("of a refusal says so to both", () => {
    expect(renderRefusal("validation_error", "USAGE", '"code" is missing')).toEqual({
      content: [{ type: "text", text: '"code" is missing' }],
      structuredContent: {
        status: "validation_error",
        error: { type: "USAGE", message: '"code" is missing' },
      },
      isError: true,
    });
  });
});
