import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "jsonc-parser";

const ROOT = resolve(import.meta.dir, "../..");
const LICENSE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** A package of npm that goes into the binary. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** As bun.lock has it: `sha512-<base64>`. */
  readonly integrity: string;
  /** An SPDX expression, as its package.json says. */
  readonly license: string;
  readonly description: string;
  readonly homepage: string | undefined;
  /** The texts of its licence and notice files, by file name. */
  readonly licenseTexts: Readonly<Record<string, string>>;
  /** Whether package.json itself names it. */
  readonly direct: boolean;
  /** What it needs, each as `keyOf` names it. */
  readonly dependencies: readonly string[];
}

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly optionalPeers?: readonly string[];
}

interface LockFile {
  readonly workspaces: { readonly "": { readonly dependencies: Readonly<Record<string, string>> } };
  /** By place: `name`, or `parent/name` where a parent has a version of its own. */
  readonly packages: Readonly<Record<string, readonly [string, string, LockEntry, string]>>;
}

/**
 * What package.json depends on, and all below it, from bun.lock; licences from node_modules. Sorted by name. Throws where
 * the lock file and node_modules disagree: then `bun install` was not run.
 */
export function listBundledPackages(): readonly BundledPackage[] {
  const lock = parse(readFileSync(join(ROOT, "bun.lock"), "utf8"), [], {
    allowTrailingComma: true,
  }) as LockFile;
  const direct = Object.keys(lock.workspaces[""].dependencies).map((name) => locate(lock, "", name));
  const waiting = [...direct];
  const found = new Map<string, BundledPackage>();
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (found.has(place)) continue;
    const below = dependenciesOf(lock, place);
    waiting.push(...below);
    found.set(place, {
      ...readPackage(lock, place),
      direct: direct.includes(place),
      dependencies: below.map((each) => lock.packages[each]?.[0] ?? ""),
    });
  }
  const byKey = new Map([...found.values()].map((each) => [keyOf(each), each]));
  return [...byKey.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** Names one version of a package. */
export function keyOf({ name, version }: Pick<BundledPackage, "name" | "version">): string {
  return `${name}@${version}`;
}

function dependenciesOf(lock: LockFile, place: string): string[] {
  const entry = lock.packages[place]?.[2] ?? {};
  const needed = Object.keys({ ...entry.dependencies, ...entry.peerDependencies }).filter(
    (name) => entry.optionalPeers?.includes(name) !== true,
  );
  // Optional ones are other platforms' and need not be there.
  const optional = Object.keys(entry.optionalDependencies ?? {}).filter((name) => name in lock.packages);
  return [...needed, ...optional].map((name) => locate(lock, place, name));
}

/** Where the package that `from` means by `name` is: below itself, below a parent, or at the top. */
function locate(lock: LockFile, from: string, name: string): string {
  const parents = from.match(/(@[^/]+\/)?[^/]+/g) ?? [];
  for (let depth = parents.length; depth >= 0; depth--) {
    const place = [...parents.slice(0, depth), name].join("/");
    if (place in lock.packages) return place;
  }
  throw new Error(`bun.lock has no "${name}", which "${from}" needs; run "bun install"`);
}

function readPackage(lock: LockFile, place: string): Omit<BundledPackage, "direct" | "dependencies"> {
  const [resolved = "", , , integrity = ""] = lock.packages[place] ?? [];
  const parents = place.match(/(@[^/]+\/)?[^/]+/g) ?? [];
  const folder = join(ROOT, ...parents.flatMap((name) => ["node_modules", name]));
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const name = String(manifest["name"]);
  const version = String(manifest["version"]);
  if (resolved !== `${name}@${version}`) {
    throw new Error(`bun.lock has "${resolved}", node_modules has "${name}@${version}"; run "bun install"`);
  }
  if (typeof manifest["license"] !== "string") throw new Error(`"${resolved}" names no licence`);
  const files = readdirSync(folder).filter((file) => LICENSE_FILE.test(file));
  return {
    name,
    version,
    integrity,
    license: manifest["license"],
    description: typeof manifest["description"] === "string" ? manifest["description"] : "",
    homepage: typeof manifest["homepage"] === "string" ? manifest["homepage"] : undefined,
    licenseTexts: Object.fromEntries(
      files.sort().map((file) => [file, readFileSync(join(folder, file), "utf8")]),
    ),
  };
}
