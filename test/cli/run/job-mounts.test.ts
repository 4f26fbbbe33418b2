import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkMounts, parseMounts } from "../../../src/cli/run/job-mounts.ts";

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

test.each([
  ["DOCKER_HOST", (path: string) => `unix://${path}`],
  ["CONTAINER_HOST", (path: string) => `unix://${path}`],
  ["SSH_AUTH_SOCK", (path: string) => path],
  ["DBUS_SESSION_BUS_ADDRESS", (path: string) => `unix:path=${path},guid=1`],
])("ISO-3: refuses a folder with what %s leads to, also by a link", async (name, toValue) => {
  for (const path of [`${folder}/data/x.sock`, `${folder}/link/x.sock`]) {
    const parsed = parseMounts([`${folder}/data:/a:ro`], { [name]: toValue(path) });
    await expect(parsed).rejects.toThrow("more of this machine");
  }
  expect(
    await parseMounts([`${folder}/data:/a`], { [name]: toValue(`${folder}/database/x.sock`) }),
  ).toHaveLength(1);
});

test("ISO-3: refuses a home folder in which an engine of the desktop listens", async () => {
  await expect(parseMounts([`${folder}:/a`], { HOME: folder })).rejects.toThrow("more of this machine");
});

test.if(process.platform === "linux")("refuses :ro where another file system is mounted below", async () => {
  await expect(parseMounts(["/var/..:/a:ro"], {})).rejects.toThrow("more of this machine");
});

describe("what is the host's alone", () => {
  const ownFolders = () => ({
    stateDir: `${folder}/home/MCPs`,
    configDir: `${folder}/home/.config/sandpy`,
    dataDir: `${folder}/home/.local/share/sandpy`,
    cacheDir: `${folder}/home/.cache/sandpy`,
  });
  const mountOf = (source: string, isReadOnly = false) => ({ source, target: "/data", isReadOnly });

  test.each([
    ["state", "home/MCPs"],
    ["a part of it", "home/MCPs/projects"],
    ["sign-ins, also to read", "home/.local/share/sandpy"],
    ["a folder above", "home"],
  ])("refuses to mount %s", async (_title, path) => {
    const mount = mountOf(join(folder, path), true);
    await expect(checkMounts([mount], ownFolders(), undefined)).rejects.toThrow("files of its own");
  });

  test("follows links to it", async () => {
    symlinkSync("data", join(folder, "home"));
    const mount = mountOf(`${folder}/data`);
    await expect(checkMounts([mount], ownFolders(), undefined)).rejects.toThrow("files of its own");
  });

  test.each(["data/out", "link/out", "data"])("refuses --out %s where the job may write", async (out) => {
    const check = (isReadOnly: boolean) =>
      checkMounts([mountOf(`${folder}/data`, isReadOnly)], ownFolders(), join(folder, out));
    await expect(check(false)).rejects.toMatchObject({ code: "USAGE" });
    await check(true);
  });

  test("lets results go beside what is mounted", async () => {
    await checkMounts([mountOf(`${folder}/data`)], ownFolders(), join(folder, "data-out"));
  });
});
