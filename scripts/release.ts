import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { compileBinary } from "./lib/compile.ts";
import { type Extras, packTarget, renderExtras } from "./packaging/contents.ts";
import { changesOf, loadRelease, type Release } from "./packaging/facts.ts";
import { formulaTargets, renderFormula } from "./packaging/formula.ts";
import { renderInstaller } from "./packaging/installer.ts";
import { signAdHoc } from "./packaging/mac-signature.ts";
import { renderSbom } from "./packaging/sbom.ts";
import { archiveName, selectTargets, type Target } from "./packaging/targets.ts";

const ROOT = resolve(import.meta.dir, "..");
const OUT = join(ROOT, "dist/release");
const HOST_BINARY = join(ROOT, "dist", process.platform === "win32" ? "sandpy.exe" : "sandpy");

/** Exit code 1: something failed; 2: the command line is wrong. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      snapshot: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      repository: { type: "string" },
      list: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      notes: { type: "boolean", default: false },
    },
  });
  const targets = selectTargets(values.only.flatMap((names) => names.split(",")));
  if (values.list) return answer(`${JSON.stringify(targets.map(describe))}\n`);
  const release = loadRelease({
    snapshot: values.snapshot,
    repository: values.repository ?? process.env["GITHUB_REPOSITORY"],
  });
  if (values.notes) {
    return answer(`${changesOf(release.version, readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"))}\n`);
  }
  if (values.check) return answer(`sandpy ${release.version} of ${release.repository}\n`);
  await build(release, targets);
  return 0;
}

function answer(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** What the workflows need of a target. */
function describe(target: Target) {
  const { name, runner, container } = target;
  return { name, archive: archiveName(target), runner, container: container ?? "" };
}

async function build(release: Release, targets: readonly Target[]): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const extras = renderExtras(HOST_BINARY, release.date);
  const files: string[] = [];
  // One after the other: each holds a runtime of 100 MB in memory.
  for (const target of targets) files.push(await buildTarget(release, target, extras));
  files.push(write("sandpy.cdx.json", await renderSbom(release)));
  files.push(write("install.sh", renderInstaller(release)));
  const sums: Record<string, string> = {};
  for (const file of files) sums[basename(file)] = await sha256Of(file);
  if (formulaTargets().every((target) => targets.includes(target))) {
    const formula = write("sandpy.rb", renderFormula(release, sums));
    sums["sandpy.rb"] = await sha256Of(formula);
  }
  const lines = Object.keys(sums)
    .sort()
    .map((name) => `${sums[name]}  ${name}\n`);
  write("checksums.txt", lines.join(""));
  say(`dist/release: sandpy ${release.version} (${release.commit}) of ${release.repository}`);
}

async function buildTarget(release: Release, target: Target, extras: Extras): Promise<string> {
  const started = performance.now();
  const binary = join(OUT, target.os === "windows" ? ".sandpy.exe" : ".sandpy");
  await compileBinary({ outfile: binary, commit: release.commit, target: target.bun });
  // Bun signs for arm64 alone, and leaves in the other what fits its own runtime.
  if (target.os === "darwin") writeFileSync(binary, signAdHoc(readFileSync(binary), "sandpy"));
  const file = await packTarget({ target, binary, extras, modified: release.date, folder: OUT });
  rmSync(binary);
  const megabytes = (statSync(file).size / 1e6).toFixed(1);
  say(`${basename(file)}: ${megabytes} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return file;
}

function write(name: string, text: string): string {
  const file = join(OUT, name);
  writeFileSync(file, text);
  return file;
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error;
  say(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = isUsage ? 2 : 1;
}
