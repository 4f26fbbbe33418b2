import { expect, test } from "bun:test";
import { OpenUploads, Upload } from "../../../src/memory/projects/upload.ts";

const MIB = 1024 * 1024;
const begin = (upload: Upload, path: string, total: number) =>
  upload.take({ path, offset: 0, total, data: Buffer.from("x").toString("base64") });
const messageOf = (work: () => unknown): string => {
  try {
    work();
    return "";
  } catch (error) {
    return String(error);
  }
};

test("what all sessions send at once is bounded, and what stands still makes room", () => {
  let now = 0;
  const all = new OpenUploads(() => now);
  const [first, second, third] = [new Upload(all), new Upload(all), new Upload(all)];
  begin(first, "a", 60 * MIB);
  now = 4000;
  begin(second, "b", 60 * MIB);
  expect(messageOf(() => begin(third, "c", 60 * MIB))).toContain('so "c" was not kept');
  begin(third, "small", 8 * MIB);
  now = 6000;
  begin(third, "c", 60 * MIB);
  const next = { path: "a", offset: 1, total: 60 * MIB, data: "eA==" };
  expect(messageOf(() => first.take(next))).toContain("does not follow the one before");
  expect(second.take({ ...next, path: "b" })).toBeUndefined();
});

test("one file that is larger than that has room where there is no other", () => {
  const all = new OpenUploads();
  const upload = new Upload(all);
  expect(begin(upload, "large", 200 * MIB)).toBeUndefined();
  upload.clear();
  expect(begin(new Upload(all), "next", 100 * MIB)).toBeUndefined();
});
