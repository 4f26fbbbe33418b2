import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RotatingFile } from "../../src/core/rotating-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-rotating-"));
  path = join(folder, "made/log.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (suffix = "") => readFileSync(`${path}${suffix}`, "utf8");

test("makes its folder and file for the user alone, and appends", async () => {
  const file = new RotatingFile({ path, maxBytes: 1000, keep: 3 });
  await file.append("a\n");
  await file.append("b\nc\n");
  file.appendNow("d\n");

  expect(read()).toBe("a\nb\nc\nd\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "made")).mode & 0o777).toBe(0o700);
});

test("puts full files aside and keeps some", async () => {
  const file = new RotatingFile({ path, maxBytes: 5, keep: 2 });
  for (const line of ["1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n"]) await file.append(line);

  expect([read(), read(".1"), read(".2")]).toEqual(["7\n", "5\n6\n", "3\n4\n"]);
  expect(readdirSync(join(folder, "made")).length).toBe(3);
});

test("takes what is larger than a whole file", async () => {
  const file = new RotatingFile({ path, maxBytes: 5, keep: 1 });
  await file.append("longer than five\n");
  await file.append("b\n");
  expect([read(), read(".1")]).toEqual(["b\n", "longer than five\n"]);
});

test("loses no line where several write to it and put it aside", async () => {
  const files = Array.from({ length: 4 }, () => new RotatingFile({ path, maxBytes: 400, keep: 100 }));
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n}`);

  await Promise.all(
    files.map(async (file, at) => {
      for (const line of lines.filter((_, n) => n % files.length === at)) await file.append(`${line}\n`);
    }),
  );

  const all = readdirSync(join(folder, "made")).flatMap((name) =>
    readFileSync(join(folder, "made", name), "utf8")
      .trimEnd()
      .split("\n"),
  );
  expect(all.sort()).toEqual(lines.sort());
  expect(existsSync(`${path}.1`)).toBe(true);
});

test("goes on in a file that cannot be put aside, and ends when it is twice as large", async () => {
  const file = new RotatingFile({ path, maxBytes: 4, keep: 1 });
  await file.append("1\n");
  mkdirSync(`${path}.1/in the way`, { recursive: true });
  for (const line of ["2\n", "3\n", "4\n"]) await file.append(line);
  expect(
    await file.append("5\n").then(
      () => "written",
      (error) => error.code,
    ),
  ).toBeOneOf(["EISDIR", "ENOTEMPTY"]);
  expect(read()).toBe("1\n2\n3\n4\n");
});

test("rejects where nothing can be written", async () => {
  mkdirSync(path, { recursive: true });
  const file = new RotatingFile({ path, maxBytes: 5, keep: 1 });
  expect(
    await file.append("a\n").then(
      () => "written",
      (error) => error.code,
    ),
  ).toBe("EISDIR");
  file.appendNow("b\n");
});
