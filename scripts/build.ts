import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Builds `dist/sandpy` for this machine; does nothing when neither an input nor the commit has changed. */

const root = resolve(import.meta.dir, "..");
const dist = join(root, "dist");
const binary = join(dist, process.platform === "win32" ? "sandpy.exe" : "sandpy");
const stamp = join(dist, ".built-from");

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
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
  const files = ["package.json", "bun.lock", "scripts/build.ts"];
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
  const partial = join(dist, `.sandpy-${process.pid}`);
  const result = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    target: "bun",
    format: "esm",
    bytecode: true,
    splitting: true,
    minify: { syntax: true, whitespace: true, identifiers: false },
    sourcemap: "linked",
    define: { __VERSION__: JSON.stringify(version), __COMMIT__: JSON.stringify(commit) },
    throw: false,
    compile: {
      outfile: partial,
      // The binary is started in folders of other people: it must not run or read what lies there.
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  // The binary has the map inside; the file beside it is of no use to anyone.
  rmSync(`${partial}.map`, { force: true });
  if (!result.success) {
    for (const message of result.logs) process.stderr.write(`${Bun.inspect(message)}\n`);
    process.stderr.write("error: the build failed\n");
    process.exitCode = 1;
    return;
  }
  chmodSync(partial, 0o755);
  // A rename, so that a bridge that runs from the old binary is not disturbed.
  renameSync(partial, binary);
  writeFileSync(stamp, inputs);
  const took = Math.round(performance.now() - started);
  process.stderr.write(`built dist/sandpy ${version} (${commit}) in ${took} ms\n`);
}
