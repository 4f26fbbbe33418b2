import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SANDBOX_COMMAND } from "../../src/kernel/command.ts";
import { PROTOCOL } from "../../src/kernel/protocol.ts";
import { BUNDLE_HASH, renderPayload } from "../../src/kernel/source.ts";

const FOLDER = join(import.meta.dir, "../../sandbox/kernel");
const onDisk = Object.fromEntries(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".py"))
    .map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]),
);
const { "bootstrap.py": bootstrap, ...files } = onDisk;

test("the payload holds every file of the sandbox as it is on disk", () => {
  const settings = { protocol: PROTOCOL, max_frame_bytes: 5, rlimits: null };
  const payload = Buffer.from(renderPayload(settings));
  expect(Number(payload.subarray(0, 10).toString())).toBe(payload.length - 10);
  expect(JSON.parse(payload.subarray(10).toString())).toEqual({ files, settings });
});

test("the command is Python, isolated, with the bootstrap", () => {
  expect(SANDBOX_COMMAND).toEqual(["python3", "-I", "-u", "-c", bootstrap ?? ""]);
});

test("the hash is the one that docs/protocol.md defines", () => {
  const hash = createHash("sha256");
  for (const name of Object.keys(files).sort()) hash.update(`${name}\0${files[name]}\0`);
  expect(BUNDLE_HASH).toBe(hash.digest("hex"));
});
