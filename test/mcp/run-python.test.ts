import { describe, expect, test } from "bun:test";
import { createRunPythonInput, MAX_CODE_BYTES } from "../../src/mcp/run-python.ts";

const INPUT = createRunPythonInput({ timeoutSeconds: 30, maxTimeoutSeconds: 120 });

const CODE = 'expected Python source as a string, such as {"code": "print(1 + 1)"}';
const SERVERS = (such: string) => `expected an array of server names, such as {"servers": ${such}}`;
const SESSION =
  'expected a handle that run_python gave, or {"session": "new"} for a fresh Python; leave it out otherwise';
const TIMEOUT = 'expected a whole number of seconds from 1 to 120, such as {"timeout": 30}';

describe("arguments", () => {
  test.each<[string, unknown, string]>([
    ["none", undefined, `"code" is missing: ${CODE}`],
    ["no code", {}, `"code" is missing: ${CODE}`],
    ["code of null", { code: null }, `"code" is null: ${CODE}`],
    ["code that is a number", { code: 5 }, `"code" is 5: ${CODE}`],
    ["code that is a list", { code: ["a"] }, `"code" is ["a"]: ${CODE}`],
    ["no characters", { code: "" }, `"code" is blank: ${CODE}`],
    ["white space", { code: " \n\t" }, `"code" is blank: ${CODE}`],
    [
      "a program without end",
      { code: "x".repeat(MAX_CODE_BYTES + 1) },
      '"code" is longer than 16777216 bytes: expected a shorter program; build large data inside it',
    ],
    ["one server", { code: "1", servers: "github" }, `"servers" is "github": ${SERVERS('["github"]')}`],
    ["a list as text", { code: "1", servers: '["a"]' }, `"servers" is "[\\"a\\"]": ${SERVERS('["a"]')}`],
    ["servers by number", { code: "1", servers: ["a", 1] }, `"servers"[1] is 1: ${SERVERS('["github"]')}`],
    ["a map of servers", { code: "1", servers: {} }, `"servers" is {}: ${SERVERS('["github"]')}`],
    [
      "too many servers",
      { code: "1", servers: Array(257).fill("a") },
      '"servers" has more than 256 names: expected those that the code calls',
    ],
    ["a timeout as text", { code: "1", timeout: "5" }, `"timeout" is "5": ${TIMEOUT}`],
    ["half a second", { code: "1", timeout: 2.5 }, `"timeout" is 2.5: ${TIMEOUT}`],
    ["no time", { code: "1", timeout: 0 }, `"timeout" is 0: ${TIMEOUT}`],
    ["negative time", { code: "1", timeout: -1 }, `"timeout" is -1: ${TIMEOUT}`],
    ["too much time", { code: "1", timeout: 121 }, `"timeout" is 121: ${TIMEOUT}`],
    ["time without end", { code: "1", timeout: 1e300 }, `"timeout" is 1e+300: ${TIMEOUT}`],
    ["NaN", { code: "1", timeout: Number.NaN }, `"timeout" is NaN: ${TIMEOUT}`],
    ["yes", { code: "1", timeout: true }, `"timeout" is true: ${TIMEOUT}`],
    ["a session by number", { code: "1", session: 7 }, `"session" is 7: ${SESSION}`],
    ["a session without a name", { code: "1", session: "" }, `"session" is "": ${SESSION}`],
    [
      "unknown keys",
      { code: "1", language: "py", k: 1 },
      'unknown argument "language", "k": run_python takes "code", "servers", "timeout" and "session"',
    ],
    [
      "__proto__",
      JSON.parse('{"code":"1","__proto__":{"timeout":1}}'),
      'unknown argument "__proto__": run_python takes "code", "servers", "timeout" and "session"',
    ],
    [
      "two mistakes",
      { code: "1", servers: "a", timeout: 0 },
      `"servers" is "a": ${SERVERS('["a"]')}\n"timeout" is 0: ${TIMEOUT}`,
    ],
    [
      "a long value",
      { code: "1", timeout: "x".repeat(1000) },
      `"timeout" is "${"x".repeat(119)}…: ${TIMEOUT}`,
    ],
  ])("CLI-6: refuses %s in words that help", (_title, given, message) => {
    expect(INPUT.parse(given)).toEqual({ kind: "invalid", message });
  });

  test("takes what is right, and null for what is not given", () => {
    const valid = (args: object) => ({ kind: "valid" as const, arguments: args }) as never;
    expect(INPUT.parse({ code: " 1" })).toEqual(
      valid({ code: " 1", servers: [], timeoutSeconds: undefined }),
    );
    expect(INPUT.parse({ code: "1", servers: null, timeout: null })).toEqual(
      valid({ code: "1", servers: [], timeoutSeconds: undefined }),
    );
    expect(INPUT.parse({ code: "1", servers: ["a"], timeout: 120 })).toEqual(
      valid({ code: "1", servers: ["a"], timeoutSeconds: 120 }),
    );
  });

  test("are published as the schema that clients need", () => {
    expect(INPUT.jsonSchema).toEqual({
      type: "object",
      properties: {
        code: { type: "string" },
        servers: { type: "array", items: { type: "string" }, description: "to preload" },
        timeout: { type: "integer", minimum: 1, maximum: 120, description: "seconds, default 30" },
        session: { type: "string", description: "handle or new" },
      },
      required: ["code"],
    });
  });

  test("follow a maximum below the default", () => {
    expect(
      createRunPythonInput({ timeoutSeconds: 5, maxTimeoutSeconds: 5 }).parse({ code: "1", timeout: 30 }),
    ).toEqual({
      kind: "invalid",
      message: '"timeout" is 30: expected a whole number of seconds from 1 to 5, such as {"timeout": 5}',
    });
  });
});
