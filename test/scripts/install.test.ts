import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { writeArchive } from "../../scripts/packaging/archive.ts";
import { renderInstaller } from "../../scripts/packaging/installer.ts";

const INSTALLER = resolve(import.meta.dir, "../../install.sh");
const TARGET = "linux-x64-baseline";
const ARCHIVE = `sandpy-${TARGET}.tar.gz`;
/** What the installer may need of a system; tests give it fewer, or others. */
const TOOLS =
  "awk cat chmod cp curl cut dirname env getconf grep head ldd mkdir mktemp mv rm sh sha256sum tar gzip uname wget";

const temp = mkdtempSync(join(tmpdir(), "sandpy-install-"));
const files = new Map<string, Uint8Array>();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const body = files.get(new URL(request.url).pathname);
    return body === undefined ? new Response("none", { status: 404 }) : new Response(new Uint8Array(body));
  },
});
afterAll(async () => {
  await server.stop(true);
  rmSync(temp, { recursive: true, force: true });
});

/** Serves a release under a name: a program that says its version, in a real archive with a real checksum. */
async function serveRelease(name: string, change: (archive: Buffer, sums: string) => [Buffer, string]) {
  const parent = join(temp, `release-${name}`);
  const folder = `sandpy-${TARGET}`;
  mkdirSync(join(parent, folder, "share/man/man1"), { recursive: true });
  writeFileSync(join(parent, folder, "sandpy"), "#!/bin/sh\necho sandpy 1.2.3 '(abc)'\n");
  writeFileSync(join(parent, folder, "share/man/man1/sandpy.1"), ".Dd\n");
  const file = join(parent, ARCHIVE);
  await writeArchive({ parent, folder, file, modified: new Date(0) });
  const bytes = readFileSync(file);
  const sum = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const [archive, sums] = change(bytes, `${"0".repeat(64)}  other.tar.gz\n${sum}  ${ARCHIVE}\n`);
  files.set(`/${name}/${ARCHIVE}`, archive);
  files.set(`/${name}/checksums.txt`, Buffer.from(sums));
}

/** A folder for PATH with the system's own tools but some, and with programs of these texts. */
function makePath(without: readonly string[], programs: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(temp, "path-"));
  for (const tool of TOOLS.split(" ").filter((name) => !without.includes(name) && !(name in programs))) {
    const real = Bun.which(tool);
    if (real !== null) symlinkSync(real, join(folder, tool));
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

interface Outcome {
  readonly code: number;
  readonly words: string;
  /** What lies in the folder for the binary. */
  readonly installed: readonly string[];
  readonly dir: string;
}

// Not spawnSync: the server is in this process.
async function install(
  args: readonly string[],
  path = makePath([]),
  installer = INSTALLER,
): Promise<Outcome> {
  const home = mkdtempSync(join(temp, "home-"));
  const child = Bun.spawn(["sh", installer, ...args], {
    env: { HOME: home, PATH: path, TMPDIR: home, SHELL: "/bin/bash" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const words = await new Response(child.stderr).text();
  const dir = join(home, ".local/bin");
  const code = await child.exited;
  expect(readdirSync(home).filter((name) => name.startsWith("sandpy-install"))).toEqual([]);
  return { code, words, installed: existsSync(dir) ? readdirSync(dir) : [], dir };
}

const from = (name: string) => ["--from", `http://127.0.0.1:${server.port}/${name}`, "--target", TARGET];

await serveRelease("good", (archive, sums) => [archive, sums]);
await serveRelease("tampered", (archive, sums) => [
  Buffer.from(archive.map((byte, index) => (index === 100 ? byte ^ 1 : byte))),
  sums,
]);
await serveRelease("cut", (archive, sums) => [archive.subarray(0, archive.length / 2), sums]);
await serveRelease("unlisted", (archive) => [archive, `${"0".repeat(64)}  x${ARCHIVE}\n`]);
await serveRelease("twice", (archive, sums) => [archive, sums + sums]);
await serveRelease("nonsense", (archive) => [archive, `hello  ${ARCHIVE}\n`]);
await serveRelease("no-archive", (archive, sums) => [archive, sums]);
files.delete(`/no-archive/${ARCHIVE}`);
await serveRelease("no-sums", (archive, sums) => [archive, sums]);
files.delete("/no-sums/checksums.txt");

describe("install.sh", () => {
  test.each([
    ["curl", ["wget"]],
    ["wget", ["curl"]],
  ] as const)("installs what has its checksum, by %s", async (_tool, without) => {
    const { code, words, installed, dir } = await install(from("good"), makePath(without));
    expect([code, installed]).toEqual([0, ["sandpy"]]);
    expect(words).toContain(`installed ${dir}/sandpy: sandpy 1.2.3 (abc)\n`);
    expect(words).toContain(`export PATH="${dir}:$PATH"`);
    expect(existsSync(join(dirname(dir), "share/man/man1/sandpy.1"))).toBe(true);
  });

  test.each([
    ["tampered", /is not what was released: nothing was installed/],
    ["cut", /is not what was released: nothing was installed/],
    ["unlisted", /has no line for/],
    ["twice", /has no good line for/],
    ["nonsense", /has no good line for/],
    ["no-archive", /could not be fetched/],
    ["no-sums", /checksums\.txt" could not be fetched/],
    ["nothing", /could not be fetched/],
  ])("refuses a release that is %s, and installs nothing", async (name, expected) => {
    const { code, words, installed } = await install(from(name));
    expect([code, installed]).toEqual([1, []]);
    expect(words).toMatch(expected);
  });

  test("keeps the old binary when the new one is refused", async () => {
    const dir = join(temp, "kept");
    mkdirSync(dir);
    writeFileSync(join(dir, "sandpy"), "old");
    expect((await install([...from("tampered"), "--dir", dir])).code).toBe(1);
    expect(readFileSync(join(dir, "sandpy"), "utf8")).toBe("old");
    expect((await install([...from("good"), "--dir", dir])).code).toBe(0);
    expect(readdirSync(dir)).toEqual(["sandpy"]);
    expect(readFileSync(join(dir, "sandpy"), "utf8")).toContain("1.2.3");
  });

  test.each([
    ["no program for checksums", from("good"), ["sha256sum"], /no sha256sum, shasum or openssl/],
    ["nothing to fetch with", from("good"), ["curl", "wget"], /neither curl nor wget/],
    [
      "another version",
      [...from("good"), "--version", "v9.9.9"],
      [],
      /asked for "9\.9\.9", but the archive has/,
    ],
    ["plain HTTP", ["--from", "http://example.invalid", "--target", TARGET], [], /only https:\/\/ is/],
    [
      "an address that only looks local",
      ["--from", "http://localhost:1@example.invalid", "--target", TARGET],
      [],
      /may lead elsewhere/,
    ],
    ["no release page", ["--target", TARGET], [], /does not know where Sandpy is published/],
    ["an unknown flag", ["--frobnicate"], [], /unknown "--frobnicate"/],
    ["a flag without its value", ["--dir"], [], /"--dir" needs a value/],
    ["a strange target", ["--from", "https://x", "--target", "../../etc"], [], /is no target/],
  ] as const)("refuses %s", async (_what, args, without, expected) => {
    const { code, words, installed } = await install(args, makePath(without));
    expect([code, installed]).toEqual([1, []]);
    expect(words).toMatch(expected);
  });

  test("does nothing when it was cut on its way", async () => {
    const text = readFileSync(INSTALLER, "utf8");
    const cut = join(temp, "cut.sh");
    writeFileSync(cut, text.slice(0, text.lastIndexOf("\nmain")));
    expect((await install(from("good"), makePath([]), cut)).installed).toEqual([]);
  });

  const uname = (system: string, machine: string) =>
    `case "$1" in -s) echo ${system};; -m) echo ${machine};; esac`;
  const glibc = { ldd: "echo 'ldd (GNU libc) 2.36'", getconf: "echo 64" };
  const musl = { ldd: "echo 'musl libc (x86_64)' >&2; exit 1", getconf: "echo 64" };
  test.each([
    ["linux-x64", { uname: uname("Linux", "x86_64"), ...glibc, grep: "exit 0" }],
    ["linux-x64-baseline", { uname: uname("Linux", "x86_64"), ...glibc, grep: "exit 1" }],
    ["linux-arm64", { uname: uname("Linux", "aarch64"), ...glibc }],
    ["linux-x64-musl", { uname: uname("Linux", "x86_64"), ...musl, grep: "exit 1" }],
    ["linux-arm64-musl", { uname: uname("Linux", "aarch64"), ...musl }],
    ["darwin-arm64", { uname: uname("Darwin", "arm64") }],
    ["darwin-x64", { uname: uname("Darwin", "x86_64"), sysctl: "exit 1" }],
    ["darwin-arm64", { uname: uname("Darwin", "x86_64"), sysctl: "echo 1" }],
    ["windows-x64", { uname: uname("MINGW64_NT-10.0", "x86_64") }],
  ])("takes %s where that fits", async (target, programs) => {
    const base = `http://127.0.0.1:${server.port}/none`;
    const { words } = await install(["--from", base], makePath([], programs));
    const ending = target.startsWith("windows") ? "zip" : "tar.gz";
    expect(words).toContain(`fetching ${base}/sandpy-${target}.${ending}\n`);
  });

  test.each([
    ["FreeBSD", { uname: uname("FreeBSD", "amd64") }, /no build for "FreeBSD"/],
    ["i686", { uname: uname("Linux", "i686"), ...glibc }, /no build for the processor "i686"/],
    ["32 bits", { uname: uname("Linux", "aarch64"), ...glibc, getconf: "echo 32" }, /32-bit/],
  ])("says that there is no build for %s", async (_what, programs, expected) => {
    const { code, words } = await install(["--from", "https://x"], makePath([], programs));
    expect(code).toBe(1);
    expect(words).toMatch(expected);
  });

  test.each([
    [[], "https://github.com/Some/where/releases/latest/download/"],
    [["--version", "1.2.3"], "https://github.com/Some/where/releases/download/v1.2.3/"],
  ] as const)("of a release page fetches from there: %j", async (args, base) => {
    const rendered = join(temp, "rendered.sh");
    writeFileSync(rendered, renderInstaller({ repository: "Some/where" }));
    const path = makePath(["wget"], { curl: "exit 22" });
    const { code, words } = await install([...args, "--target", TARGET], path, rendered);
    expect(code).toBe(1);
    expect(words).toContain(`fetching ${base}${ARCHIVE}\n`);
  });
});
