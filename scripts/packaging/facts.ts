import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { packageVersion } from "../lib/compile.ts";

const ROOT = resolve(import.meta.dir, "../..");
const REPOSITORY = /^[A-Za-z0-9][\w.-]*\/[\w.-]+$/;
/** Stands where a snapshot does not know where it will be published. */
export const UNKNOWN_REPOSITORY = "OWNER/sandpy";

/** What is released, from its one source each: package.json, git and CHANGELOG.md. */
export interface Release {
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly commit: string;
  /** When the commit was made: the time of every file, so that a later build gives the same bytes. */
  readonly date: Date;
  /** `OWNER/NAME` on GitHub: where archives are fetched from. */
  readonly repository: string;
}

export interface ReleaseOptions {
  /** Builds what is there, tagged or not. */
  readonly snapshot: boolean;
  readonly repository: string | undefined;
}

/** Throws when this is no release: the tree differs from its commit, the tag from the version, the changelog says nothing. */
export function loadRelease(options: ReleaseOptions): Release {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Record<string, string>;
  const version = packageVersion();
  const seconds = Number(process.env["SOURCE_DATE_EPOCH"] ?? git("log", "-1", "--format=%ct"));
  if (!options.snapshot) {
    const faults = findFaults({
      version,
      repository: options.repository,
      changes: git("status", "--porcelain"),
      tags: git("tag", "--points-at", "HEAD").split("\n"),
      changelog: readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"),
    });
    if (faults.length > 0) throw new Error(`this is no release:\n- ${faults.join("\n- ")}`);
  }
  return {
    version,
    license: manifest["license"] ?? "",
    description: manifest["description"] ?? "",
    commit: git("rev-parse", "--short=12", "HEAD"),
    date: new Date(seconds * 1000),
    repository: parseRepository(options.repository ?? UNKNOWN_REPOSITORY),
  };
}

/** What a release is judged by. */
export interface Candidate {
  readonly version: string;
  readonly repository: string | undefined;
  /** As `git status --porcelain` prints. */
  readonly changes: string;
  /** The tags of the commit. */
  readonly tags: readonly string[];
  readonly changelog: string;
}

/** Why this cannot be released, each with what to do; nothing when it can. */
export function findFaults({ version, repository, changes, tags, changelog }: Candidate): readonly string[] {
  const tag = `v${version}`;
  const found = tags.filter((name) => name !== "");
  return [
    ...(changes.trim() === "" ? [] : ["the tree has changes that are not committed: commit or stash them"]),
    ...(found.includes(tag)
      ? []
      : [
          `package.json says "${version}", but the commit has ${found.length === 0 ? "no tag" : `the tag "${found.join('", "')}"`}: tag it "${tag}", or change the version`,
        ]),
    ...(changesOf(version, changelog) === ""
      ? [`CHANGELOG.md says nothing under "## ${version}": name the section so, and put the changes there`]
      : []),
    ...(repository === undefined
      ? ["nobody says where it is published: give --repository OWNER/NAME, or set GITHUB_REPOSITORY"]
      : []),
  ];
}

/** The text of one version's section of the changelog; empty where there is none. */
export function changesOf(version: string, changelog: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version) ?? "";
  return section.split("\n").slice(1).join("\n").trim();
}

function parseRepository(text: string): string {
  if (REPOSITORY.test(text)) return text;
  throw new Error(`the repository "${text}" is not of the form OWNER/NAME`);
}

function git(...args: readonly string[]): string {
  if (!existsSync(join(ROOT, ".git")))
    throw new Error("a release is made from a clone: there is no .git here");
  const answer = Bun.spawnSync(["git", "-C", ROOT, ...args]);
  if (!answer.success) throw new Error(`"git ${args.join(" ")}" failed: ${answer.stderr.toString().trim()}`);
  return answer.stdout.toString().trim();
}
