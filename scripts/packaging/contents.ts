import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { writeArchive } from "./archive.ts";
import { renderNotice } from "./notice.ts";
import { archiveName, binaryName, type Target } from "./targets.ts";

const ROOT = resolve(import.meta.dir, "../..");

/** Files of an archive beside the binary, by their path in it; where an installation puts them is the path. */
export type Extras = Readonly<Record<string, string>>;

/** What the program prints for shells and for `man`, where it belongs, and how Homebrew installs it. */
export const PRINTED: readonly {
  readonly path: string;
  readonly args: readonly string[];
  readonly brew: string;
}[] = [
  { path: "share/man/man1/sandpy.1", args: ["__manual", "man"], brew: "man1.install" },
  {
    path: "share/bash-completion/completions/sandpy",
    args: ["completions", "bash"],
    brew: "bash_completion.install",
  },
  {
    path: "share/zsh/site-functions/_sandpy",
    args: ["completions", "zsh"],
    brew: "zsh_completion.install",
  },
  {
    path: "share/fish/vendor_completions.d/sandpy.fish",
    args: ["completions", "fish"],
    brew: "fish_completion.install",
  },
];

/** All but binary and licence, as of `modified`. Throws when the binary does not print one of them. */
export function renderExtras(binary: string, modified: Date): Extras {
  const printed = PRINTED.map(({ path, args }) => [path, outputOf(binary, args, modified)]);
  return { ...Object.fromEntries(printed), NOTICE: renderNotice() };
}

/** What to pack. */
export interface PackOptions {
  readonly target: Target;
  readonly binary: string;
  readonly extras: Extras;
  readonly modified: Date;
  /** Where the archive goes. A folder of the target's name is laid out in it meanwhile. */
  readonly folder: string;
}

/** Packs the archive of one target and tells its path. */
export async function packTarget(options: PackOptions): Promise<string> {
  const { target, binary, extras, folder } = options;
  const name = `sandpy-${target.name}`;
  const staged = join(folder, name);
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(staged, { recursive: true });
  copyFileSync(binary, join(staged, binaryName(target)));
  chmodSync(join(staged, binaryName(target)), 0o755);
  copyFileSync(join(ROOT, "LICENSE"), join(staged, "LICENSE"));
  for (const [path, text] of Object.entries(extras)) {
    mkdirSync(dirname(join(staged, path)), { recursive: true });
    writeFileSync(join(staged, path), text);
  }
  const file = join(folder, archiveName(target));
  await writeArchive({ parent: folder, folder: name, file, modified: options.modified });
  rmSync(staged, { recursive: true });
  return file;
}

function outputOf(command: string, args: readonly string[], modified: Date): string {
  // The same bytes for the same commit, whenever it is packed.
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(modified.getTime() / 1000)) };
  const answer = Bun.spawnSync([command, ...args], { env });
  if (!answer.success || answer.stdout.length === 0) {
    const words = answer.stderr.toString().trim();
    throw new Error(`"${command} ${args.join(" ")}" printed nothing to put into the archives: ${words}`);
  }
  return answer.stdout.toString();
}
