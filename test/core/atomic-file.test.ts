import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTemporary, removeFile, replaceFile, sweepTemporaries } from "../../src/core/atomic-file.ts";

const MODULE = join(import.meta.dir, "../../src/core/atomic-file.ts");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-atomic-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("replaces a file, for its owner alone, and removes it", async () => {
  const path = join(folder, "a");
  writeFileSync(path, "old", { mode: 0o644 });
  await replaceFile(path, "new");
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["new", 0o600]);
  expect([await removeFile(path), await removeFile(path), readdirSync(folder)]).toEqual([true, false, []]);
});

test("puts a new file over nothing that is there", async () => {
  const path = join(folder, "a");
  for (const make of [() => writeFileSync(path, "old"), () => mkdirSync(path)]) {
    make();
    expect(await replaceFile(path, "new", { isNew: true }).catch(({ code }: { code: string }) => code)).toBe(
      "EEXIST",
    );
    expect(readdirSync(folder)).toEqual(["a"]);
    rmSync(path, { recursive: true });
  }
  await replaceFile(path, "new", { isNew: true });
  expect([readFileSync(path, "utf8"), statSync(path).nlink]).toEqual(["new", 1]);
});

test("leaves nothing behind where what was written is not put in its place", async () => {
  const path = join(folder, "a");
  writeFileSync(path, "old");
  await replaceFile(path, "new", { put: async () => {} });
  expect([readFileSync(path, "utf8"), readdirSync(folder)]).toEqual(["old", ["a"]]);
});

test("sweeps at once what a process that is gone left half written", async () => {
  const program = `
    import { replaceFile } from ${JSON.stringify(MODULE)};
    for (;;) await replaceFile(${JSON.stringify(join(folder, "a"))}, "x".repeat(1e6));`;
  let left: readonly string[] = [];
  for (let attempt = 0; attempt < 50 && left.length === 0; attempt++) {
    const child = Bun.spawn([process.execPath, "-e", program]);
    while (readdirSync(folder).length === 0) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    left = readdirSync(folder).filter(isTemporary);
    if (left.length === 0) rmSync(join(folder, "a"), { force: true });
  }
  expect(left).toHaveLength(1);
  await sweepTemporaries(folder);
  expect(readdirSync(folder).filter(isTemporary)).toEqual([]);
});

test("HOST-11: leaves alone what a process that lives is writing, however the clock was set", async () => {
  let seen: readonly string[] = [];
  const writing = replaceFile(join(folder, "a"), "x".repeat(10_000_000)).then(() => "written");
  while (seen.length === 0) {
    seen = readdirSync(folder).filter(isTemporary);
    await Promise.resolve();
  }
  for (const name of seen) utimesSync(join(folder, name), 1, 1);
  await sweepTemporaries(folder);
  expect(await writing).toBe("written");
  expect(readdirSync(folder)).toEqual(["a"]);
});

test("HOST-12: knows what a process left whose number is another's by now", async () => {
  await Promise.all([replaceFile(join(folder, "a"), "x".repeat(1_000_000)), rename()]);
  expect(readdirSync(folder).filter(isTemporary)).toHaveLength(1);
  await sweepTemporaries(folder);
  expect(readdirSync(folder).filter(isTemporary)).toEqual([]);

  /** Gives what this process writes the name that an earlier one of its number would have given. */
  async function rename() {
    let [name] = readdirSync(folder).filter(isTemporary);
    while (name === undefined) {
      await Promise.resolve();
      [name] = readdirSync(folder).filter(isTemporary);
    }
    writeFileSync(join(folder, name.replace(/^(.sandpy-writing-.{8}).{12}/, "$1000000000001")), "");
  }
});
