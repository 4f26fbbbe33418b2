import { createHash } from "node:crypto";

/** What our images are called; the tag says which. */
export const REPOSITORY = "localhost/sandpy-python";
const PREFIX = "io.sandpy.";
/** Every image of ours has it. */
export const RECIPE_LABEL = `${PREFIX}recipe`;
export const FINGERPRINT_LABEL = `${PREFIX}fingerprint`;
export const PYTHON_LABEL = `${PREFIX}python`;
const LOCK_LABEL = `${PREFIX}lock`;
/** Changes when the same inputs would give another image. */
const RECIPE_VERSION = 1;

/** What decides what is in an image. */
export interface Ingredients {
  readonly kind: "from-host" | "packages" | "containerfile";
  /** The interpreter's fingerprint, the base image's id, or the hash of a Containerfile and its folder's name. */
  readonly base: string;
  /** The base image's name, where there is one. */
  readonly baseName: string | undefined;
  /** Of the interpreter; `undefined` where it is not known yet. */
  readonly python: string | undefined;
  readonly systemPackages: readonly string[];
  readonly lock: readonly string[];
}

/** A text that is the same for the same ingredients. */
export function fingerprintOf({ kind, base, systemPackages, lock }: Ingredients): string {
  const parts = [RECIPE_VERSION, kind, base, [...systemPackages].sort(), lock];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/** The name of an image: the same ingredients have the same; of a plain Python of this machine there is one. */
export function tagOf(ingredients: Ingredients): string {
  if (ingredients.kind === "from-host" && ingredients.lock.length === 0) return `${REPOSITORY}:host`;
  return `${REPOSITORY}:${ingredients.kind}-${fingerprintOf(ingredients)}`;
}

/** Labels by the OCI's conventions and our own. No time: the same ingredients give the same image. */
export function labelsOf(ingredients: Ingredients): Readonly<Record<string, string>> {
  const { kind, base, baseName, python, systemPackages, lock } = ingredients;
  return {
    "org.opencontainers.image.title": "Python for sandpy",
    "org.opencontainers.image.description": "What sandboxes of sandpy run",
    ...(baseName === undefined
      ? {}
      : { "org.opencontainers.image.base.name": baseName, "org.opencontainers.image.base.digest": base }),
    [RECIPE_LABEL]: kind,
    [FINGERPRINT_LABEL]: kind === "from-host" && lock.length === 0 ? base : fingerprintOf(ingredients),
    ...(python === undefined ? {} : { [PYTHON_LABEL]: python }),
    ...(systemPackages.length === 0 ? {} : { [`${PREFIX}system-packages`]: systemPackages.join(" ") }),
    ...(lock.length === 0 ? {} : { [LOCK_LABEL]: lock.join("; ") }),
  };
}

/** The names and versions in a lock, such as `numpy 2.1.0`. */
export function packagesOf(lock: readonly string[]): string[] {
  return lock.map((line) => line.split(" ")[0]?.replace("==", " ") ?? "");
}

export const ROOT_TAR = "root.tar";
export const PACKAGES_TAR = "packages.tar";

/** The Containerfile of an image whose parts lie beside it. `target` is where packages go. */
export function renderContainerfile(options: {
  readonly from: string | undefined;
  readonly systemPackages: readonly string[];
  readonly target: string | undefined;
}): string {
  const { from, systemPackages, target } = options;
  return [
    ...(from === undefined ? ["FROM scratch", `ADD ${ROOT_TAR} /`, "ENV LANG=C.UTF-8"] : [`FROM ${from}`]),
    ...(systemPackages.length === 0
      ? []
      : [`USER 0`, `RUN ${JSON.stringify(installCommand(systemPackages))}`]),
    ...(target === undefined ? [] : [`ADD ${JSON.stringify([PACKAGES_TAR, `${target}/`])}`]),
    "",
  ].join("\n");
}

/** Names are arguments of the shell, and no part of what it runs. */
function installCommand(names: readonly string[]): string[] {
  const script =
    'set -e; apt-get update -qq; apt-get install -y -qq --no-install-recommends -- "$@"; rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*';
  return ["/bin/sh", "-c", script, "sh", ...names];
}
