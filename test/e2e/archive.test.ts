import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { packTarget, renderExtras } from "../../scripts/packaging/contents.ts";
import { renderFormula } from "../../scripts/packaging/formula.ts";
import { archiveName, TARGETS } from "../../scripts/packaging/targets.ts";
import { BINARY, flavour } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const ROOT = resolve(import.meta.dir, "../..");
const home = createHome();
afterAll(() => home[Symbol.dispose]());

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const target = TARGETS.find(({ os, arch }) => os === process.platform && arch === process.arch);

function run(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const answer = Bun.spawnSync([...command], {
    env: { PATH: process.env["PATH"], HOME: home.path, ...env },
    timeout: 60_000,
  });
  return { code: answer.exitCode, stdout: answer.stdout.toString(), stderr: answer.stderr.toString() };
}

// No engine has a part in it: once is enough.
describe.skipIf(flavour === "docker" || target === undefined)("the archive of this machine", () => {
  const folder = join(home.path, "release");
  const archive = join(folder, target === undefined ? "" : archiveName(target));

  test("is packed the same twice from the binary that was built", async () => {
    if (target === undefined) throw new Error("there is no target for this machine");
    mkdirSync(folder);
    const modified = new Date("2026-01-02T03:04:06Z");
    const extras = renderExtras(BINARY, modified);
    const pack = async () => {
      await packTarget({ target, binary: BINARY, extras, modified, folder });
      return new Bun.CryptoHasher("sha256").update(readFileSync(archive)).digest("hex");
    };
    const first = await pack();
    expect(await pack()).toBe(first);
    writeFileSync(join(folder, "checksums.txt"), `${first}  ${archiveName(target)}\n`);
  });

  test("works when it is unpacked: version, help, a client that asks for the tools", () => {
    const { code, stdout, stderr } = run([join(ROOT, "scripts/smoke"), archive, version]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`works here: sandpy ${version} `);
  });

  test("is installed by install.sh", async () => {
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => new Response(Bun.file(join(folder, new URL(request.url).pathname))),
    });
    const bin = join(home.path, "bin");
    const from = `http://127.0.0.1:${server.port}`;
    const args = ["--from", from, "--target", target?.name ?? "", "--dir", bin, "--version", version];
    const child = Bun.spawn(["sh", join(ROOT, "install.sh"), ...args], {
      env: { PATH: process.env["PATH"], HOME: home.path },
      stderr: "pipe",
    });
    const words = await new Response(child.stderr).text();
    expect([await child.exited, words]).toEqual([0, expect.stringContaining(`installed ${bin}/sandpy`)]);
    expect(readFileSync(join(home.path, "share/man/man1/sandpy.1"), "utf8")).toContain("sandpy");
  });

  test("is installed by the formula, and passes its test", () => {
    if (Bun.which("ruby") === null)
      throw new Error("there is no ruby here: install it (apt-get install ruby)");
    const sums = Object.fromEntries(TARGETS.map((each) => [archiveName(each), "0".repeat(64)]));
    const release = {
      version,
      license: "Apache-2.0",
      description: "",
      commit: "",
      date: new Date(0),
      repository: "some/where",
    };
    const formula = home.write("sandpy.rb", renderFormula(release, sums));
    const unpacked = join(folder, `sandpy-${target?.name}`);
    expect(run(["tar", "-xzf", archive, "-C", folder]).code).toBe(0);
    const prefix = join(home.path, "prefix");
    const harness = join(ROOT, "test/fixtures/formula/try.rb");
    const system = process.platform === "darwin" ? "macos" : "linux";
    const cpu = process.arch === "arm64" ? "arm" : "intel";
    const { code, stderr } = run(["ruby", harness, formula, system, cpu, unpacked, prefix]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(existsSync(join(prefix, "share/zsh/site-functions/_sandpy"))).toBe(true);
  });
});
