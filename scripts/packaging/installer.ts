import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Release } from "./facts.ts";

const ROOT = resolve(import.meta.dir, "../..");
const PLACEHOLDER = '\nREPOSITORY=""\n';

/** `install.sh` of a release page: that of the repository, which then knows where it was published. */
export function renderInstaller({ repository }: Pick<Release, "repository">): string {
  const text = readFileSync(join(ROOT, "install.sh"), "utf8");
  if (!text.includes(PLACEHOLDER)) throw new Error(`install.sh has no line ${PLACEHOLDER.trim()}`);
  return text.replace(PLACEHOLDER, `\nREPOSITORY="${repository}"\n`);
}
