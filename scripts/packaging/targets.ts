/** What a release is built for. One table: build, archives, checksums, formula, installer and CI come from it. */

export interface Target {
  /** Names the archive, and the folder in it. */
  readonly name: string;
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "x64" | "arm64";
  /** The runtime. Bun fetches it from the npm registry as `@oven/<it>`. */
  readonly bun: Bun.Build.CompileTarget;
  readonly archive: "tar.gz" | "zip";
  /** A machine of GitHub that can run it, for the smoke test. */
  readonly runner: string;
  /** An image in which the runner runs it. */
  readonly container?: string;
}

/**
 * `linux-x64` may use what newer processors have; `-baseline` needs none of it. Everywhere else the baseline is all there is
 * for x64: one archive that runs on every machine is worth more than the last percent.
 */
export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    os: "linux",
    arch: "x64",
    bun: "bun-linux-x64",
    archive: "tar.gz",
    runner: "ubuntu-24.04",
  },
  {
    name: "linux-x64-baseline",
    os: "linux",
    arch: "x64",
    bun: "bun-linux-x64-baseline",
    archive: "tar.gz",
    runner: "ubuntu-24.04",
  },
  {
    name: "linux-arm64",
    os: "linux",
    arch: "arm64",
    bun: "bun-linux-arm64",
    archive: "tar.gz",
    runner: "ubuntu-24.04-arm",
  },
  {
    name: "linux-x64-musl",
    os: "linux",
    arch: "x64",
    bun: "bun-linux-x64-baseline-musl",
    archive: "tar.gz",
    runner: "ubuntu-24.04",
    container: "alpine:3.22",
  },
  {
    name: "linux-arm64-musl",
    os: "linux",
    arch: "arm64",
    bun: "bun-linux-arm64-musl",
    archive: "tar.gz",
    runner: "ubuntu-24.04-arm",
    container: "alpine:3.22",
  },
  {
    name: "darwin-arm64",
    os: "darwin",
    arch: "arm64",
    bun: "bun-darwin-arm64",
    archive: "tar.gz",
    runner: "macos-15",
  },
  {
    name: "darwin-x64",
    os: "darwin",
    arch: "x64",
    bun: "bun-darwin-x64-baseline",
    archive: "tar.gz",
    runner: "macos-15-intel",
  },
  {
    name: "windows-x64",
    os: "windows",
    arch: "x64",
    bun: "bun-windows-x64-baseline",
    archive: "zip",
    runner: "windows-2025",
  },
];

/** The name has no version in it, so that `releases/latest/download/NAME` always leads to the newest. */
export function archiveName(target: Target): string {
  return `sandpy-${target.name}.${target.archive}`;
}

export function binaryName(target: Target): string {
  return target.os === "windows" ? "sandpy.exe" : "sandpy";
}

/** The targets of these names, in the order of the table; all without names. Throws for a name that is not there. */
export function selectTargets(names: readonly string[]): readonly Target[] {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown !== undefined) {
    const valid = TARGETS.map((target) => target.name).join(", ");
    throw new Error(`no target "${unknown}"; there are: ${valid}`);
  }
  return names.length === 0 ? TARGETS : TARGETS.filter((target) => names.includes(target.name));
}
