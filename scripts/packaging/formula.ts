import { PRINTED } from "./contents.ts";
import type { Release } from "./facts.ts";
import { archiveName, TARGETS, type Target } from "./targets.ts";

/** Where Homebrew runs, and which target it takes there. On Linux it promises no more than the baseline of x64, and glibc. */
const PLACES = [
  { os: "macos", cpu: "arm", target: "darwin-arm64" },
  { os: "macos", cpu: "intel", target: "darwin-x64" },
  { os: "linux", cpu: "arm", target: "linux-arm64" },
  { os: "linux", cpu: "intel", target: "linux-x64-baseline" },
] as const;

/** The targets that the formula names. */
export function formulaTargets(): readonly Target[] {
  return PLACES.map(({ target }) => targetNamed(target));
}

/** Where an archive of a version is fetched from. */
function downloadUrl({ repository, version }: Release, target: Target): string {
  return `https://github.com/${repository}/releases/download/v${version}/${archiveName(target)}`;
}

/** The formula for a tap of one's own. `sha256` is by the name of the archive, and must have all that the formula names. */
export function renderFormula(release: Release, sha256: Readonly<Record<string, string>>): string {
  const installed = PRINTED.map(({ brew, path }) => `    ${brew} "${path}"\n`);
  const systems = (["macos", "linux"] as const).map((os) => renderSystem(os, release, sha256));
  return `# typed: false
# frozen_string_literal: true

# Made by scripts/release from the table of its targets; changes belong there.
class Sandpy < Formula
  desc "MCP server with one tool: Python in a container that calls your MCP servers"
  homepage "https://github.com/${release.repository}"
  version "${release.version}"
  license "${release.license}"

  livecheck do
    url :stable
    strategy :github_latest
  end

${systems.join("\n\n")}

  def install
    bin.install "sandpy"
${installed.join("")}    doc.install "NOTICE"
  end

  def caveats
    <<~EOS
      Sandpy runs Python in containers of Podman or Docker, and installs neither:
        brew install podman
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sandpy --version")

    # Without a container engine on PATH it must say so, with its own exit code.
    (testpath/"hello.py").write "print('hello')"
    refused = shell_output("PATH=#{testpath} #{bin}/sandpy run hello.py 2>&1", 4)
    assert_match "no container engine", refused
  end
end
`;
}

function renderSystem(
  os: (typeof PLACES)[number]["os"],
  release: Release,
  sha256: Readonly<Record<string, string>>,
): string {
  const blocks = PLACES.filter((place) => place.os === os).map(({ cpu, target: name }) => {
    const target = targetNamed(name);
    const hash = sha256[archiveName(target)];
    if (hash === undefined) throw new Error(`the formula needs the archive of "${name}"`);
    return `    on_${cpu} do
      url "${downloadUrl(release, target)}"
      sha256 "${hash}"
    end`;
  });
  return `  on_${os} do\n${blocks.join("\n")}\n  end`;
}

function targetNamed(name: string): Target {
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw new Error(`the table of targets has no "${name}"`);
  return target;
}
