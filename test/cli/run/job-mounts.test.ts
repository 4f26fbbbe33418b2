import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseMounts } from "../../../src/cli/run/job-mounts.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-mounts-")));
  mkdirSync(join(folder, "data"));
  symlinkSync("data", join(folder, "link"));
  writeFileSync(join(folder, "file"), "");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("reads HOST:PATH with its mode, and resolves links", async () => {
  const given = [`${folder}/data:/data`, `${folder}/link:/x/../y/:ro`, `${folder}/file:/workspace/f:rw`];
  expect(await parseMounts(given, {})).toEqual([
    { source: `${folder}/data`, target: "/data", isReadOnly: false },
    { source: `${folder}/data`, target: "/y", isReadOnly: true },
    { source: `${folder}/file`, target: "/workspace/f", isReadOnly: false },
  ]);
});

test.each([
  ["F/data", "expected HOST:PATH or HOST:PATH:ro"],
  ["F/data:data", "expected HOST:PATH"],
  ["F/data:/data:rx", "expected HOST:PATH"],
  ["F/data:/data:ro:z", "expected HOST:PATH"],
  ["F/none:/data", "does not exist"],
  ["/dev/null:/data", "is neither a folder nor a file"],
  ...[
    "/",
    "//",
    "/data/..",
    "/proc",
    "/proc/self",
    "/sys",
    "/dev/shm",
    "/etc",
    "/usr/lib",
    "/lib64",
    "/run/x",
  ].map((target) => [`F/data:${target}`, "belongs to the sandbox"]),
  ...["/tmp", "/tmp/", "/workspace", "/projects/x", "/workspace/out", "/tmp/.sandpy-output"].map((target) => [
    `F/data:${target}`,
    "belongs to the sandbox",
  ]),
  ["/:/host", "would open more of this machine than its files"],
  ["/proc:/host:ro", "would open more of this machine"],
  ["/sys/kernel:/host", "would open more of this machine"],
  ["/run:/host:ro", "would open more of this machine"],
])("refuses %s", async (text, words) => {
  await expect(parseMounts([text.replace("F/", `${folder}/`)], {})).rejects.toThrow(words);
});

test("refuses one place for two folders, and a folder in which an engine listens", async () => {
  await expect(parseMounts([`${folder}:/a`, `${folder}/data:/a/`], {})).rejects.toThrow("for two folders");
  await expect(parseMounts([`${folder}:/a`], { XDG_RUNTIME_DIR: folder })).rejects.toThrow(
    "more of this machine",
  );
  const socket = join(folder, "any.sock");
  const server: Server = createServer().listen(socket);
  await new Promise((resolve) => server.once("listening", resolve));
  await expect(parseMounts([`${socket}:/a`], {})).rejects.toThrow("neither a folder nor a file");
  server.close();
});

test.if(process.platform === "linux")("refuses :ro where another file system is mounted below", async () => {
  await expect(parseMounts(["/var/..:/a:ro"], {})).rejects.toThrow("more of this machine");
});
