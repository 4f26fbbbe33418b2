import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PrivateFolder } from "../../src/core/private-folder.ts";

test("removes what killed processes left half written, and nothing else", async () => {
  const path = mkdtempSync(join(tmpdir(), "sandpy-private-"));
  const hour = Date.now() / 1000 - 3600;
  const name = (start: number, place: string) =>
    `.sandpy-writing-00000001${start.toString(16).padStart(12, "0")}${place}01234567`;
  const [old, young] = [name(0, "0123456789abcdef"), name(1, "0123456789abcdef")];
  for (const each of [old, young, `${old}~`, ".a.json.0123456789abcdef", ".keep", "old.json"]) {
    writeFileSync(join(path, each), "x");
    if (each !== young) utimesSync(join(path, each), hour, hour);
  }

  await (await PrivateFolder.open(path))?.write("a.json", "{}");

  // The young one may be the work of a process of another machine.
  const kept = [young, `${old}~`, ".a.json.0123456789abcdef", ".keep", "a.json", "old.json"];
  expect(readdirSync(path).sort()).toEqual(kept.sort());
  rmSync(path, { recursive: true });
});
