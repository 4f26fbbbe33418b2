import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PrivateFolder } from "../../src/core/private-folder.ts";

test("removes what killed processes left half written, and nothing else", async () => {
  const path = mkdtempSync(join(tmpdir(), "sandpy-private-"));
  const hour = Date.now() / 1000 - 3600;
  for (const name of [".a.json.0123456789abcdef", ".b.json.00000001ba987654", ".keep", "old.json"]) {
    writeFileSync(join(path, name), "x");
    if (!name.startsWith(".b")) utimesSync(join(path, name), hour, hour);
  }

  await (await PrivateFolder.open(path))?.write("a.json", "{}");

  // The young one may be another process's work.
  expect(readdirSync(path).sort()).toEqual([".b.json.00000001ba987654", ".keep", "a.json", "old.json"]);
  rmSync(path, { recursive: true });
});
