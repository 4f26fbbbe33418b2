import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { findOciRuntimes, findProgram } from "../../src/container/machine.ts";

const root = mkdtempSync(join(tmpdir(), "sandpy-path-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Twenty folders, more than are looked at together. */
const FOLDERS = Array.from({ length: 20 }, (_, index) => join(root, `bin-${index}`));
const PATH = FOLDERS.join(delimiter);
for (const folder of FOLDERS) mkdirSync(folder);
const put = (index: number, name: string, mode = 0o755) =>
  writeFileSync(join(root, `bin-${index}`, name), "#!/bin/sh\n", { mode });

put(17, "late");
put(3, "twice");
put(4, "twice");
put(6, "far");
put(18, "far");
put(1, "text", 0o644);
put(12, "text");
mkdirSync(join(root, "bin-2/folder"));
put(9, "folder");
put(19, "runc");

test.each([
  ["late", 17],
  ["twice", 3],
  ["far", 6],
  ["text", 12],
  ["folder", 9],
])("finds %s, the first that can be run on a long PATH", async (name, index) => {
  expect(await findProgram(name, { PATH })).toBe(join(root, `bin-${index}`, name));
});

test("finds nothing where there is nothing, and nothing in a folder that is relative", async () => {
  const relativePath = FOLDERS.map((folder) => relative(process.cwd(), folder)).join(delimiter);
  expect(await findProgram("twice", { PATH: relativePath })).toBeUndefined();
  expect(await findProgram("twice", { PATH: "" })).toBeUndefined();
  expect(await findProgram("neither", { PATH })).toBeUndefined();
});

test("finds the OCI runtimes on the PATH before those of the system", async () => {
  expect((await findOciRuntimes({ PATH })).get("runc")).toBe(join(root, "bin-19/runc"));
});
