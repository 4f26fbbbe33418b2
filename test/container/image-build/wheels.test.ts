import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listWheels } from "../../../src/container/image-build/wheels.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-wheels-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("lists wheels by name, and nothing that only looks like one", async () => {
  for (const name of ["b.whl", "a.whl", "c.txt"]) writeFileSync(join(folder, name), name);
  mkdirSync(join(folder, "folder.whl"));
  symlinkSync("nowhere", join(folder, "link.whl"));
  expect((await listWheels(folder)).map(({ name, bytes }) => [name, bytes])).toEqual([
    ["a.whl", 5],
    ["b.whl", 5],
  ]);
});

test.each([
  ["", "there is no wheel (.whl)"],
  ["none", "cannot be read (ENOENT)"],
])("refuses a folder without any: %j", async (path, words) => {
  await expect(listWheels(join(folder, path))).rejects.toThrow(words);
});
