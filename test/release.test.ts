import { describe, expect, test } from "bun:test";
import { accessSync, constants, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dir, "..");
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

interface PackageFile {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

const manifest = JSON.parse(read("package.json")) as PackageFile;
const dependencies = { ...manifest.dependencies, ...manifest.devDependencies };

describe("a release", () => {
  test("has the version of the newest section of CHANGELOG.md, or one that is not released yet", () => {
    const [newest = ""] = [...read("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title);
    expect(["Unreleased", manifest.version]).toContain(newest.split(" ")[0] ?? "");
  });

  test("pins every dependency exactly", () => {
    expect(Object.entries(dependencies).filter(([, version]) => !EXACT.test(version))).toEqual([]);
  });

  test("gives a reason for every dependency, and for no other", () => {
    const rows = [...read("docs/dependencies.md").matchAll(/^\| `([^`]+)` *\| ([\w.-]+) *\| .{20,} \|$/gm)];
    expect(Object.fromEntries(rows.map(([, name = "", version = ""]) => [name, version]))).toEqual(
      dependencies,
    );
  });

  test("names the same Bun everywhere", () => {
    const { bun } = manifest.devDependencies;
    expect(read(".tool-versions")).toContain(`bun ${bun}\n`);
    expect(manifest.devDependencies["@types/bun"]).toBe(bun ?? "");
  });

  test("comes with the whole license that it names", () => {
    expect(manifest.license).toBe("Apache-2.0");
    const license = read("LICENSE");
    expect(license).toContain("Version 2.0, January 2004");
    expect(license).toContain("END OF TERMS AND CONDITIONS");
  });

  test.each(["scripts/setup", "scripts/build", "scripts/demo", "scripts/test", "scripts/release", ".ci/run"])(
    "can run %s",
    (script) => {
      accessSync(join(ROOT, script), constants.X_OK);
      expect(read(script)).toStartWith("#!/usr/bin/env bash\n");
      expect(read(script)).toContain("\nset -euo pipefail\n");
    },
  );
});
