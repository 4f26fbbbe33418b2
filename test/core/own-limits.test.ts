import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFilesLimit, readOwnLimits, scarcityOf } from "../../src/core/own-limits.ts";

describe("HOST-13: what is too little", () => {
  test.each([
    [{ openFiles: 256, processes: 64 }, undefined, undefined],
    [{ openFiles: undefined, processes: undefined }, undefined, undefined],
    [{ openFiles: 64, processes: 1000 }, "may have only 64 open files", "ulimit -n 256"],
    [{ openFiles: 1000, processes: 20 }, "may have only 20 processes", "ulimit -u 64"],
    [
      { openFiles: 64, processes: 20 },
      "may have only 64 open files and 20 processes",
      "ulimit -n 256; ulimit -u 64",
    ],
  ])("of %p is said with what to type", (limits, what, command) => {
    expect(scarcityOf(limits)?.what).toBe(what as string);
    expect(scarcityOf(limits)?.command).toBe(command as string);
  });
});

test("the limits of a process are read as Linux writes them", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-limits-"));
  const file = join(folder, "limits");
  writeFileSync(
    file,
    "Limit                     Soft Limit           Hard Limit           Units     \n" +
      "Max processes             unlimited            unlimited            processes \n" +
      "Max open files            1024                 4096                 files     \n",
  );
  expect(readOwnLimits("soft", file)).toEqual({ openFiles: 1024, processes: Number.MAX_SAFE_INTEGER });
  expect(readOwnLimits("hard", file)).toEqual({ openFiles: 4096, processes: Number.MAX_SAFE_INTEGER });
  expect(readOwnLimits("soft", join(folder, "absent"))).toEqual({
    openFiles: undefined,
    processes: undefined,
  });
  rmSync(folder, { recursive: true });
});

test("there is a number for a system that says nothing", () => {
  expect(openFilesLimit()).toBeGreaterThan(0);
});
