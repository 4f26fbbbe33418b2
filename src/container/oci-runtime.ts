import { basename } from "node:path";
import { record } from "./facts.ts";

/** The program that makes containers for the engine. */
export interface OciRuntimeFacts {
  readonly name: string;
  /** As the runtime or its package says it, such as `1.1.5+ds1`; `undefined` where the engine does not say. */
  readonly version: string | undefined;
  readonly path: string | undefined;
}

/** In the answer of `podman info --format json`; `undefined` when it names none. */
export function parsePodmanRuntime(answer: unknown): OciRuntimeFacts | undefined {
  const { name, version, path } = record(record(record(answer)["host"])["ociRuntime"]);
  if (typeof name !== "string" || name === "") return undefined;
  const words = typeof version === "string" ? version.split("\n")[0] : undefined;
  return {
    name: basename(name), // podman gives back a path that it was given
    version: words?.match(/\d+\.\d\S*/)?.[0],
    path: typeof path === "string" && path !== "" ? path : undefined,
  };
}

/** In the answer of `docker version --format json`, which knows the version of one runtime only: runc. */
export function parseDockerRuntime(answer: unknown, name: string): OciRuntimeFacts {
  const components = record(record(answer)["Server"])["Components"];
  const runc = Array.isArray(components)
    ? components.map(record).find((each) => each["Name"] === "runc")
    : {};
  const version = name === "runc" ? runc?.["Version"] : undefined;
  return {
    name,
    version: typeof version === "string" && version !== "" ? version : undefined,
    path: undefined,
  };
}

/** The first release of each line of runc that has the fixes below, oldest first; what is older has no fix. */
const FIXED_RUNC = [
  [1, 2, 8],
  [1, 3, 3],
  [1, 4, 0],
] as const;
const RUNC_HOLES = "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881";

/**
 * The holes through which code in a container got to the host with this version; `undefined` when none is known.
 * Distributions repair old versions without a new number, so this is a reason to look, not a proof.
 */
export function knownHoles({ name, version }: OciRuntimeFacts): string | undefined {
  const [, major, minor, patch, candidate] = /^(\d+)\.(\d+)\.(\d+)(?:-rc\.?(\d+))?/.exec(version ?? "") ?? [];
  if (name !== "runc" || major === undefined) return undefined;
  const numbers = [Number(major), Number(minor), Number(patch)] as const;
  const fixed = FIXED_RUNC.find(([one, two]) => one === numbers[0] && two === numbers[1]) ?? FIXED_RUNC[0];
  // 1.4.0-rc.3 was the first candidate with the fixes.
  if (candidate !== undefined && numbers.join(".") === "1.4.0") {
    return Number(candidate) < 3 ? RUNC_HOLES : undefined;
  }
  return compare(numbers, fixed) < 0 ? RUNC_HOLES : undefined;
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
