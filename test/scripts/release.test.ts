import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { writeArchive } from "../../scripts/packaging/archive.ts";
import { listBundledPackages } from "../../scripts/packaging/bundled-packages.ts";
import { type Candidate, changesOf, findFaults, type Release } from "../../scripts/packaging/facts.ts";
import { renderNotice } from "../../scripts/packaging/notice.ts";
import { renderSbom } from "../../scripts/packaging/sbom.ts";
import { archiveName, selectTargets, TARGETS } from "../../scripts/packaging/targets.ts";

const ROOT = resolve(import.meta.dir, "../..");
const temp = mkdtempSync(join(tmpdir(), "sandpy-release-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const release: Release = {
  version: "1.2.3",
  license: "Apache-2.0",
  description: "A server",
  commit: "0123456789ab",
  date: new Date("2026-01-02T03:04:06Z"),
  repository: "Some/where",
};

describe("the targets", () => {
  test("are those that are promised, each with an archive and a runtime of its own", () => {
    expect(TARGETS.map(archiveName)).toEqual([
      "sandpy-linux-x64.tar.gz",
      "sandpy-linux-x64-baseline.tar.gz",
      "sandpy-linux-arm64.tar.gz",
      "sandpy-linux-x64-musl.tar.gz",
      "sandpy-linux-arm64-musl.tar.gz",
      "sandpy-darwin-arm64.tar.gz",
      "sandpy-darwin-x64.tar.gz",
      "sandpy-windows-x64.zip",
    ]);
    expect(new Set(TARGETS.map((target) => target.bun)).size).toBe(TARGETS.length);
  });

  test("can be chosen by name, and an unknown name is refused with the names that there are", () => {
    const chosen = selectTargets(["darwin-x64", "linux-arm64"]).map((target) => target.name);
    expect(chosen).toEqual(["linux-arm64", "darwin-x64"]);
    expect(() => selectTargets(["solaris"])).toThrow(/no target "solaris"; there are: linux-x64, /);
  });
});

describe("a candidate", () => {
  const good: Candidate = {
    version: "1.2.3",
    repository: "some/where",
    changes: "",
    tags: ["v1.2.3"],
    changelog: "# Changelog\n\n## 1.2.3 (2026-01-02)\n\n- New.\n\n## 1.2.2\n\n- Old.\n",
  };

  test("can be released when tag, version, tree and changelog agree", () => {
    expect(findFaults(good)).toEqual([]);
    expect(changesOf("1.2.3", good.changelog)).toBe("- New.");
  });

  test.each([
    ["changes", { changes: " M README.md" }, /not committed/],
    ["no tag", { tags: [""] }, /has no tag: tag it "v1\.2\.3"/],
    ["another tag", { tags: ["v1.2.4"] }, /has the tag "v1\.2\.4": tag it "v1\.2\.3"/],
    ["an unreleased changelog", { changelog: "## Unreleased\n\n- New.\n" }, /under "## 1\.2\.3"/],
    ["an empty section", { changelog: "## 1.2.3\n\n## 1.2.2\n\n- Old.\n" }, /under "## 1\.2\.3"/],
    ["no repository", { repository: undefined }, /--repository OWNER\/NAME/],
  ] as const)("is refused for %s", (_what, change, words) => {
    const faults = findFaults({ ...good, ...change });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(words);
  });
});

describe("an archive", () => {
  /** Lays out the same content as another day and another user's mask would. */
  function layOut(parent: string, modified: Date, mode: number): void {
    for (const path of ["z.txt", "sandpy", "share/man/man1/sandpy.1", "share/bash/sandpy"]) {
      const file = join(temp, parent, "sandpy-x", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${path}\n`, { mode });
      utimesSync(file, modified, modified);
    }
  }
  layOut("one", new Date("2020-01-01"), 0o600);
  layOut("two", new Date("2021-01-01"), 0o777);

  test.each(["tar.gz", "zip"])("is the same whenever and by whomever it is packed: %s", async (ending) => {
    for (const parent of ["one", "two"]) {
      const file = join(temp, `${parent}.${ending}`);
      await writeArchive({ folder: "sandpy-x", parent: join(temp, parent), file, modified: release.date });
    }
    expect(readFileSync(join(temp, `one.${ending}`))).toEqual(readFileSync(join(temp, `two.${ending}`)));
    // What a program of the system makes of it.
    const into = join(temp, `unpacked-${ending}`);
    mkdirSync(into);
    const file = join(temp, `one.${ending}`);
    const unpack = ending === "zip" ? ["unzip", "-q", file, "-d", into] : ["tar", "-xzf", file, "-C", into];
    if (Bun.which(unpack[0] ?? "") === null) return;
    expect(Bun.spawnSync([...unpack], { env: { TZ: "UTC", PATH: process.env["PATH"] } }).success).toBe(true);
    const modes = ["sandpy", "share/bash/sandpy"].map((path) => statSync(join(into, "sandpy-x", path)).mode);
    expect(modes.map((mode) => (mode & 0o111) !== 0)).toEqual([true, false]);
    expect(statSync(join(into, "sandpy-x/z.txt")).mtime).toEqual(release.date);
    expect(readFileSync(join(into, "sandpy-x/share/man/man1/sandpy.1"), "utf8")).toBe(
      "share/man/man1/sandpy.1\n",
    );
  });
});

describe("what the binary contains", () => {
  /** The packages of which a file comes into the bundle. */
  async function bundledNames(): Promise<readonly string[]> {
    const result = await Bun.build({
      entrypoints: [join(ROOT, "src/main.ts")],
      target: "bun",
      metafile: true,
      root: ROOT,
    });
    const inputs = Object.keys(result.metafile?.inputs ?? {});
    const names = inputs.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))].sort();
  }

  test("is in the SBOM: every package that is bundled, Bun, and the Python of the sandbox", async () => {
    const text = await renderSbom(release);
    const bom = JSON.parse(text) as {
      metadata: { component: { version: string; purl: string } };
      components: {
        name: string;
        group?: string;
        purl?: string;
        licenses?: unknown[];
        components?: unknown[];
      }[];
    };
    expect(bom.metadata.component).toMatchObject({ version: "1.2.3", purl: "pkg:github/some/where@v1.2.3" });
    const names = bom.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
    const bundled = await bundledNames();
    expect(bundled).toContain("@modelcontextprotocol/client");
    expect(bundled.filter((name) => !names.includes(name))).toEqual([]);
    expect(names).toContain("bun");
    const packages = bom.components.filter(({ purl }) => purl?.startsWith("pkg:npm/"));
    expect(packages.length).toBe(listBundledPackages().length);
    expect(packages.filter(({ licenses }) => licenses?.length !== 1)).toEqual([]);
    const sandbox = bom.components.find(({ name }) => name === "sandpy-sandbox");
    expect(sandbox?.components?.length).toBeGreaterThan(10);
    expect(await renderSbom(release)).toBe(text);
  });

  test("is in the notice, each package with the text of its licence", () => {
    const notice = renderNotice();
    const missing = listBundledPackages().filter(
      ({ name, licenseTexts }) =>
        !notice.includes(`\n${name}@`) || !Object.values(licenseTexts).some((text) => text.length > 200),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
