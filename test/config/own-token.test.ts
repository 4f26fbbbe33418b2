import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadOwnToken } from "../../src/config/own-token.ts";

const ADA = "ada-0123456789abcdef";
const BEN = "ben-0123456789abcdef";
const HASH = `sha256:${"0".repeat(64)}`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-own-token-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(text: string): string {
  const path = join(folder, "tokens");
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

test.each([
  ["nothing", undefined, undefined, undefined, undefined],
  ["a token alone", ADA, undefined, undefined, ADA],
  ["one of several", `ada:${ADA},ben:${BEN}`, undefined, "ben", BEN],
  ["the one of a file", undefined, `ada ${ADA}\n`, undefined, ADA],
  ["one of a file's", undefined, `ada ${ADA}\nben ${BEN}\n`, "ada", ADA],
  ["one of a file in JSON", undefined, JSON.stringify({ ada: ADA }), undefined, ADA],
  ["one of two that somebody has", undefined, `ada ${HASH}\nada ${ADA}\n`, undefined, ADA],
  ["a list before a file", BEN, `ada ${ADA}\n`, undefined, BEN],
  ["an access token of an issuer", `${"x".repeat(3000)}.y`, undefined, undefined, `${"x".repeat(3000)}.y`],
])("takes %s", async (_, list, text, name, token) => {
  const file = text === undefined ? undefined : write(text);
  expect(await loadOwnToken({ list, file, name })).toBe(token);
});

test.each([
  [
    "several, and no name",
    `ada:${ADA},ben:${BEN}`,
    undefined,
    "MCP_BRIDGE_HTTP_TOKEN has tokens of ada, ben",
  ],
  ["a name that is not there", `ada:${ADA}`, "eve", 'there is no token of "eve"'],
  ["a name without any", undefined, "eve", 'there is no token of "eve": no token is set'],
  ["a hash alone", `ada:${HASH}`, undefined, 'only the hash of the token of "ada"'],
])("refuses %s, and tells no token", async (_, list, name, message) => {
  const error = await loadOwnToken({ list, file: undefined, name }).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(message) });
  expect(JSON.stringify(error) + String(error)).not.toContain("0123456789abcdef");
});
