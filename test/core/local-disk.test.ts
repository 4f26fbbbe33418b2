import { expect, test } from "bun:test";
import { isOnLocalDisk } from "../../src/core/local-disk.ts";

const isLinux = process.platform === "linux";

test.each<[string, string, boolean]>([
  ["memory is, which is no disk but as quick", "/dev/shm", isLinux],
  ["what is not there yet is where it will be", "/dev/shm/no-such-folder/no-such-file", isLinux],
  ["a file of the system's own is not", "/proc/self/status", false],
  ["nothing below a file is not", "/proc/self/status/below", false],
])("knows whether something is on a disk of this machine: %s", async (_title, path, expected) => {
  expect(await isOnLocalDisk(path)).toBe(expected);
});
