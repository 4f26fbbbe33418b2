import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { PRINTED } from "../../scripts/packaging/contents.ts";
import type { Release } from "../../scripts/packaging/facts.ts";
import { formulaTargets, renderFormula } from "../../scripts/packaging/formula.ts";
import { archiveName, TARGETS } from "../../scripts/packaging/targets.ts";

const HARNESS = resolve(import.meta.dir, "../fixtures/formula/try.rb");
const release: Release = {
  version: "1.2.3",
  license: "Apache-2.0",
  description: "A server",
  commit: "0123456789ab",
  date: new Date(0),
  repository: "Some/where",
};
/** A hash that tells of which archive it is. */
const hashOf = (name: string) => new Bun.CryptoHasher("sha256").update(name).digest("hex");
const sums = Object.fromEntries(TARGETS.map(archiveName).map((name) => [name, hashOf(name)]));

const temp = mkdtempSync(join(tmpdir(), "sandpy-formula-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

describe("the formula", () => {
  test("names archives of the table, and refuses to be made without one of them", () => {
    expect(formulaTargets().every((target) => TARGETS.includes(target))).toBe(true);
    const { "sandpy-darwin-x64.tar.gz": _left, ...others } = sums;
    expect(() => renderFormula(release, others)).toThrow('the formula needs the archive of "darwin-x64"');
  });

  test("has no line that is longer than brew style allows, and its parts in the order of Homebrew", () => {
    const text = renderFormula(release, sums);
    expect(text.split("\n").filter((line) => line.length > 118)).toEqual([]);
    const parts = [
      ...text.matchAll(/^ {2}(desc|homepage|version|license|livecheck|on_\w+|def \w+|test)\b/gm),
    ];
    expect(parts.map(([, part = ""]) => part)).toEqual([
      "desc",
      "homepage",
      "version",
      "license",
      "livecheck",
      "on_macos",
      "on_linux",
      "def install",
      "def caveats",
      "test",
    ]);
    // brew audit: at most 80 characters, no article first, no full stop, not the formula's name first.
    const desc = /desc "(.*)"/.exec(text)?.[1] ?? "";
    expect(desc.length).toBeLessThanOrEqual(80);
    expect(desc).not.toMatch(/^(an?|the|sandpy)\b|\.$/i);
  });
});

describe("the formula in Ruby", () => {
  beforeAll(() => {
    if (Bun.which("ruby") === null)
      throw new Error("there is no ruby here: install it (apt-get install ruby)");
  });

  const formula = join(temp, "sandpy.rb");
  writeFileSync(formula, renderFormula(release, sums));
  const unpacked = join(temp, "unpacked");
  for (const path of ["sandpy", "NOTICE", ...PRINTED.map((each) => each.path)]) {
    mkdirSync(dirname(join(unpacked, path)), { recursive: true });
    writeFileSync(join(unpacked, path), "x\n");
  }
  /** Says its version, and refuses to run anything as where there is no engine; with `version` it lies about the first. */
  function writeProgram(version: string): void {
    const text = `#!/bin/sh\n[ "$1" = --version ] && echo "sandpy ${version} (abc)" && exit\necho "no container engine" >&2\nexit 4\n`;
    writeFileSync(join(unpacked, "sandpy"), text);
    chmodSync(join(unpacked, "sandpy"), 0o755);
  }
  const tryFormula = (system: string, cpu: string) =>
    Bun.spawnSync(["ruby", HARNESS, formula, system, cpu, unpacked, mkdtempSync(join(temp, "prefix-"))]);

  test("is valid", () => {
    expect(Bun.spawnSync(["ruby", "-wc", formula]).stdout.toString()).toBe("Syntax OK\n");
  });

  test.each([
    ["macos", "arm", "sandpy-darwin-arm64.tar.gz"],
    ["macos", "intel", "sandpy-darwin-x64.tar.gz"],
    ["linux", "arm", "sandpy-linux-arm64.tar.gz"],
    ["linux", "intel", "sandpy-linux-x64-baseline.tar.gz"],
  ])("takes on %s %s the archive %s, installs it and passes its own test", (system, cpu, archive) => {
    writeProgram("1.2.3");
    const { exitCode, stdout, stderr } = tryFormula(system, cpu);
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    expect(JSON.parse(stdout.toString())).toMatchObject({
      version: "1.2.3",
      homepage: "https://github.com/Some/where",
      url: `https://github.com/Some/where/releases/download/v1.2.3/${archive}`,
      sha256: hashOf(archive),
    });
  });

  test("fails its test for a binary of another version", () => {
    writeProgram("1.2.2");
    const { exitCode, stderr } = tryFormula("linux", "intel");
    expect(exitCode).toBe(1);
    expect(stderr.toString()).toContain('no "1.2.3" in "sandpy 1.2.2');
  });
});
