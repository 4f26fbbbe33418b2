import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadTokenFile, parseTokenList } from "../../src/config/http-tokens.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { BridgeError } from "../../src/core/errors.ts";

const A = "0123456789abcdef";
const B = "fedcba9876543210+/=";
const hex = (text: string) => createHash("sha256").update(text).digest("hex");
const shown = (tokens: readonly { name: string; digest: Uint8Array }[] | undefined) =>
  tokens?.map(({ name, digest }) => [name, Buffer.from(digest).toString("hex")]);

const folder = mkdtempSync(join(tmpdir(), "sandpy-tokens-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(text: string, mode = 0o600): string {
  const path = join(folder, "tokens");
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const faultOf = (path: string): Promise<BridgeError> =>
  loadTokenFile(path).then(
    () => Promise.reject(new Error("the file was accepted")),
    (error: BridgeError) => error,
  );

describe("a list in a variable", () => {
  test.each([
    [A, [["default", hex(A)]]],
    [
      `alice:${A}, bob:${B}`,
      [
        ["alice", hex(A)],
        ["bob", hex(B)],
      ],
    ],
    [`sha256:${hex(A)}`, [["default", hex(A)]]],
    [`bob:sha256:${hex(A)}`, [["bob", hex(A)]]],
    ["short", undefined],
    [`:${A}`, undefined],
    [`alice:${A},`, undefined],
    [`al ice:${A}`, undefined],
    [`alice:${A} x`, undefined],
  ])("%p", (text, expected) => {
    expect(shown(parseTokenList(text))).toEqual(expected as string[][] | undefined);
  });

  test("is in no message and no child's environment", () => {
    const refused = () => loadConfig({ HOME: "/h", MCP_BRIDGE_HTTP_TOKEN: "hunter2" });
    expect(refused).toThrow("MCP_BRIDGE_HTTP_TOKEN is not usable: expected a token of 16 characters or more");
    expect(refused).not.toThrow("hunter2");
    const { env, http } = loadConfig({ HOME: "/h", MCP_BRIDGE_HTTP_TOKEN: A });
    expect([env, shown(http.tokens)]).toEqual([{ HOME: "/h" }, [["default", hex(A)]]]);
  });
});

describe("a file", () => {
  test.each([
    [
      `# who\n\nalice ${A}\r\n  bob\t${B}  \nalice sha256:${hex("x")}\n`,
      [
        ["alice", hex(A)],
        ["bob", hex(B)],
        ["alice", hex("x")],
      ],
    ],
    [
      ` {"alice": "${A}", "bob@x.example": "sha256:${hex(B).toUpperCase()}"}`,
      [
        ["alice", hex(A)],
        ["bob@x.example", hex(B)],
      ],
    ],
  ])("%j", async (text, expected) => {
    expect(shown(await loadTokenFile(write(text)))).toEqual(expected);
  });

  test.each([
    [`alice ${A}\nbob\n`, "line 2 is not a name"],
    [`alice secret\n`, "line 1 is not a name"],
    [`alice ${A} more\n`, "line 1 is not a name"],
    [`{"alice": "secret"}`, `the entry "alice" is not a name`],
    [`{"alice": 1}`, 'expected JSON such as {"name": "token"}'],
    [`{"alice": "secret"`, 'expected JSON such as {"name": "token"}'],
    ["# none\n", "there is no token in it"],
  ])("%j is refused, and what it says is not repeated", async (text, message) => {
    const { code, message: said, hint } = await faultOf(write(text));
    expect([code, said]).toEqual(["CONFIG_INVALID", expect.stringContaining(message)]);
    expect(`${said} ${hint}`).not.toContain("secret");
  });

  test.each([0o604, 0o620, 0o602, 0o644])(
    "that others can read or change is refused (mode %o)",
    async (mode) => {
      const path = write(`alice ${A}\n`, mode);
      expect((await faultOf(path)).hint).toBe(`Type chmod 600 ${path}`);
    },
  );

  test("that a group can read is accepted", async () => {
    expect(await loadTokenFile(write(`alice ${A}\n`, 0o640))).toHaveLength(1);
  });

  test.each([
    ["nowhere", "cannot be read: there is no such file or folder"],
    [".", "expected a file of at most"],
  ])("%p is refused, since it is none", async (name, words) => {
    const { code, message, hint } = await faultOf(join(folder, name));
    expect([code, message, message.includes("ENOENT")]).toEqual([
      "CONFIG_INVALID",
      expect.stringContaining(words),
      false,
    ]);
    if (name === "nowhere") expect(hint).toMatch(/^Correct --token-file .* Each line is "name token"; /);
  });
});
