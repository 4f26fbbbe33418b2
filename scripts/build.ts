import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compileBinary, packageVersion } from "./lib/compile.ts";

/** Builds `dist/sandpy` for this machine; does nothing when neither an input nor the commit has changed. */

const root = resolve(import.meta.dir, "..");
const dist = join(root, "dist");
const binary = join(dist, process.platform === "win32" ? "sandpy.exe" : "sandpy");
const stamp = join(dist, ".built-from");

const commit = currentCommit();
const inputs = hashInputs();

if (existsSync(binary) && existsSync(stamp) && readFileSync(stamp, "utf8") === inputs) {
  process.stderr.write("dist/sandpy is up to date\n");
} else {
  await build();
}

function currentCommit(): string {
  const git = Bun.which("git");
  if (git === null) return "unknown"; // a machine without git has the sources from an archive
  const answer = Bun.spawnSync([git, "-C", root, "rev-parse", "--short=12", "HEAD"], { stderr: "ignore" });
  return answer.success ? answer.stdout.toString().trim() : "unknown";
}

function hashInputs(): string {
  const hasher = new Bun.CryptoHasher("sha256");
  hasher.update(`${Bun.version} ${process.platform} ${process.arch} ${commit}\0`);
  const files = [
    "package.json",
    "bun.lock",
    "scripts/build.ts",
    "scripts/lib/compile.ts",
    "scripts/lib/lean-sdk.ts",
  ];
  for (const folder of ["src", "sandbox"]) {
    const glob = new Bun.Glob("**/*.{ts,tsx,css,js,py,json,bin}");
    if (!existsSync(join(root, folder))) continue;
    for (const name of glob.scanSync(join(root, folder))) files.push(`${folder}/${name}`);
  }
  for (const file of files.sort()) {
    hasher.update(`${file}\0`);
    hasher.update(readFileSync(join(root, file)));
  }
  return hasher.digest("hex");
}

async function build(): Promise<void> {
  const started = performance.now();
  mkdirSync(dist, { recursive: true });
  try {
    await compileBinary({ outfile: binary, commit });
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(stamp, inputs);
  const took = Math.round(performance.now() - started);
  process.stderr.write(`built dist/sandpy ${packageVersion()} (${commit}) in ${took} ms\n`);
}
