import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { leanSdk } from "./lean-sdk.ts";

const ROOT = resolve(import.meta.dir, "../..");

/** What is stamped into a binary, and what file it becomes. */
export interface CompileOptions {
  readonly outfile: string;
  readonly commit: string;
  /** The runtime that goes into it, fetched from the npm registry where it is not this machine's own. */
  readonly target?: Bun.Build.CompileTarget;
}

/** The version that package.json says: the only copy of it. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  return version;
}

/**
 * Compiles the one binary, the same way for this machine and for a release, and puts it in place in one step: a bridge that
 * runs from the old one is not disturbed. Throws with what the bundler says.
 */
export async function compileBinary({ outfile, commit, target }: CompileOptions): Promise<void> {
  // The binary has the source maps inside; those beside it are of no use to anyone and go with this folder.
  const folder = mkdtempSync(join(dirname(outfile), ".compile-"));
  const name = target?.startsWith("bun-windows") === true ? "sandpy.exe" : "sandpy";
  try {
    const result = await bundle(join(folder, name), commit, target);
    if (!result.success) {
      const what = target === undefined ? "the build failed" : `the build for "${target}" failed`;
      throw new Error([what, ...result.logs.map((message) => Bun.inspect(message))].join("\n"));
    }
    chmodSync(join(folder, name), 0o755);
    renameSync(join(folder, name), outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function bundle(outfile: string, commit: string, target: CompileOptions["target"]) {
  return Bun.build({
    entrypoints: [join(ROOT, "src/main.ts")],
    target: "bun",
    format: "esm",
    bytecode: true,
    splitting: true,
    minify: { syntax: true, whitespace: true, identifiers: false },
    sourcemap: "linked",
    define: { __VERSION__: JSON.stringify(packageVersion()), __COMMIT__: JSON.stringify(commit) },
    plugins: [leanSdk],
    throw: false,
    compile: {
      outfile,
      ...(target === undefined ? {} : { target }),
      // Nothing but what is in the binary runs: neither a string nor a file that BUN_OPTIONS names.
      execArgv: ["--disallow-code-generation-from-strings=strict"],
      // The binary is started in folders of other people: it must not run or read what lies there.
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
}
