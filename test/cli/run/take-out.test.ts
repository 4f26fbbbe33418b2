import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkOutFolder, takeOut } from "../../../src/cli/run/take-out.ts";
import type { Answer } from "../../../src/kernel/asks.ts";
import { WorkspaceFiles } from "../../../src/kernel/workspace-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-out-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const PIECE = 3 * 1024 * 1024;
const signal = new AbortController().signal;

/** A sandbox that says it has these files; it may lie. */
function sandboxWith(files: Readonly<Record<string, string | Buffer>>, listed?: object): WorkspaceFiles {
  return new WorkspaceFiles({
    async ask(method, { path, offset }): Promise<Answer> {
      if (method === "list_files") {
        const found = Object.entries(files).map(([name, content]) => ({ path: name, bytes: content.length }));
        return { value: { files: found, notes: [], ...listed } };
      }
      const content = Buffer.from(files[String(path).slice("out/".length)] ?? "");
      const start = Number(offset);
      return { value: { data: content.subarray(start, start + PIECE).toString("base64") } };
    },
  });
}

const sha = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

test("writes files, none executable, and a list with their hashes", async () => {
  const large = Buffer.alloc(7_000_000, "ab");
  const out = join(folder, "new/folder");
  const { files, notes } = await takeOut(
    sandboxWith({ "a.txt": "one", "deep/er/b": large, empty: "" }),
    out,
    signal,
  );
  expect(notes).toEqual([]);
  expect(files).toEqual([
    { path: "a.txt", size: 3, sha256: sha("one") },
    { path: "deep/er/b", size: 7_000_000, sha256: sha(large) },
    { path: "empty", size: 0, sha256: sha("") },
  ]);
  expect(readFileSync(join(out, "deep/er/b")).equals(large)).toBe(true);
  expect(statSync(join(out, "a.txt")).mode & 0o111).toBe(0);
  expect(JSON.parse(readFileSync(join(out, "manifest.json"), "utf8"))).toEqual({ files: [...files] });
});

test("writes nothing outside, and nothing twice, whatever a sandbox calls its files", async () => {
  const names = [
    "../up",
    "/abs",
    "a/../../b",
    "a//b",
    "./c",
    "nul\0",
    "line\nbreak",
    "esc\u001b[31m",
    "back\\slash",
    "manifest.json",
    "Manifest.JSON",
    "x".repeat(300),
    `${"d/".repeat(600)}e`,
  ];
  const out = join(folder, "out");
  const { files, notes } = await takeOut(
    sandboxWith({ ...Object.fromEntries(names.map((name) => [name, "!"])), good: "1", "good/below": "2" }),
    out,
    signal,
  );
  expect(files.map(({ path }) => path)).toEqual(["good"]);
  expect(notes.length).toBe(names.length + 1);
  expect(notes.join("")).not.toMatch(/\p{Cc}/u);
  expect(readdirSync(out).sort()).toEqual(["good", "manifest.json"]);
  expect(readdirSync(folder)).toEqual(["out"]);
});

test("takes a name that is listed twice once", async () => {
  const twice = {
    files: [
      { path: "a", bytes: 1 },
      { path: "a", bytes: 1 },
    ],
  };
  const { files, notes } = await takeOut(sandboxWith({ a: "1" }, twice), folder, signal);
  expect([files.length, notes]).toEqual([1, ['not brought back: "out/a": another file has that name here']]);
});

test("stops at a file that never ends", async () => {
  const piece = Buffer.alloc(PIECE).toString("base64");
  const endless = new WorkspaceFiles({
    ask: async (method) =>
      method === "list_files"
        ? { value: { files: [{ path: "holes", bytes: 1 }], notes: [] } }
        : { value: { data: piece } },
  });
  const { files, notes } = await takeOut(endless, folder, signal);
  expect([files, notes]).toEqual([
    [],
    ['not brought back: "out/holes": there is no room for it: all together may have 256 MiB'],
  ]);
  expect(existsSync(join(folder, "holes"))).toBe(false);
});

test.each([
  ["no list", { files: "no" }],
  ["too many files", { files: Array.from({ length: 10_001 }, (_, n) => ({ path: `${n}`, bytes: 0 })) }],
])("refuses %s", async (_title, listed) => {
  await expect(takeOut(sandboxWith({}, listed), folder, signal)).rejects.toMatchObject({
    code: "FILES_FAILED",
    message: '"/workspace/out" in the sandbox: the sandbox did not answer as it should',
  });
});

test("waits no longer for a sandbox that goes on giving small pieces", async () => {
  const stop = new AbortController();
  let pieces = 0;
  const slow = new WorkspaceFiles({
    async ask(method): Promise<Answer> {
      if (method === "list_files") return { value: { files: [{ path: "a", bytes: 1 }], notes: [] } };
      if (++pieces === 5) stop.abort();
      return { value: { data: "YQ==" } };
    },
  });
  await expect(takeOut(slow, folder, stop.signal)).rejects.toMatchObject({
    code: "FILES_FAILED",
    hint: `${JSON.stringify(folder)} has 0 of them, and no manifest.json.`,
  });
  expect(pieces).toBe(5);
  expect(readdirSync(folder)).toEqual([]);
});

describe("the folder", () => {
  test("may be missing or empty", async () => {
    await checkOutFolder(join(folder, "none"));
    await checkOutFolder(folder);
  });

  test("must not hold anything, nor be a file", async () => {
    writeFileSync(join(folder, "mine"), "");
    await expect(checkOutFolder(folder)).rejects.toMatchObject({ code: "USAGE" });
    await expect(checkOutFolder(join(folder, "mine"))).rejects.toThrow(
      "is no folder that can be read (ENOTDIR)",
    );
    mkdirSync(join(folder, "sub"));
    await expect(checkOutFolder(`${folder}/`)).rejects.toThrow("is not empty");
  });
});
