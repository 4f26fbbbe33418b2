import { readFile } from "node:fs/promises";

const BY_DISTRIBUTION: Readonly<Record<string, string>> = {
  debian: "sudo apt-get install podman",
  ubuntu: "sudo apt-get install podman",
  fedora: "sudo dnf install podman",
  rhel: "sudo dnf install podman",
  centos: "sudo dnf install podman",
  suse: "sudo zypper install podman",
  opensuse: "sudo zypper install podman",
  arch: "sudo pacman -S podman",
  alpine: "sudo apk add podman",
  gentoo: "sudo emerge app-containers/podman",
  nixos: "nix-shell -p podman",
};

/** The command that installs podman on this system; `undefined` where we know none. */
export async function findInstallCommand(platform: string = process.platform): Promise<string | undefined> {
  if (platform === "darwin") return "brew install podman && podman machine init && podman machine start";
  if (platform === "win32") return "winget install RedHat.Podman";
  const text = await readFile("/etc/os-release", "utf8").catch(() => ""); // a system without one
  return parseOsRelease(text)
    .map((id) => BY_DISTRIBUTION[id])
    .find((command) => command !== undefined);
}

/** The distribution's own id and those that it is like, nearest first. */
export function parseOsRelease(text: string): string[] {
  const value = (key: string) => new RegExp(`^${key}=["']?([^"'\\n]*)`, "m").exec(text)?.[1] ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(/\s+/).filter((id) => id !== "");
}
