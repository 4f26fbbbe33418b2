import { BridgeError } from "../../core/errors.ts";

const MAX_LINES = 500;
const NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?";
const VERSION = "(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.+!*_-]{0,60}";
const REQUIREMENT = new RegExp(`^${NAME}(?:\\[${NAME}\\])?(?:${VERSION})?$`);
const LOCKED = new RegExp(`^${NAME}==[A-Za-z0-9][A-Za-z0-9.+!_-]{0,60}(?: --hash=sha256:[0-9a-f]{64})+$`);
/** As Debian names and versions its packages. */
const SYSTEM_PACKAGE = /^[a-z0-9][a-z0-9+.-]{1,98}(?:=[A-Za-z0-9][A-Za-z0-9.+~:-]{0,98})?$/;

/** Throws `USAGE` unless each text is a package with at most one bound on its version: no option, path or address. */
export function checkRequirements(lines: readonly string[]): void {
  check(lines, REQUIREMENT, "a Python package", "numpy or numpy==2.1.0");
}

/** The same for packages of the distribution. */
export function checkSystemPackages(names: readonly string[]): void {
  check(names, SYSTEM_PACKAGE, "a package of the distribution", "fonts-dejavu-core");
}

function check(texts: readonly string[], pattern: RegExp, what: string, example: string): void {
  if (texts.length > MAX_LINES)
    throw usage(`${texts.length} packages are too many`, `Name at most ${MAX_LINES}.`);
  const wrong = texts.find((text) => !pattern.test(text));
  if (wrong !== undefined)
    throw usage(`${JSON.stringify(wrong)} is not ${what}`, `Expected a name such as ${example}.`);
}

/** Reads a lock: exact versions with hashes, one a line, and comments. Throws `CONFIG_INVALID` with the line at fault. */
export function parseLock(file: string, text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const wrong = lines.findIndex((line) => line !== "" && !line.startsWith("#") && !LOCKED.test(line));
  if (wrong !== -1) {
    throw new BridgeError(
      "CONFIG_INVALID",
      `${file}:${wrong + 1}: ${JSON.stringify(lines[wrong]?.slice(0, 200))} is no line of a lock`,
      {
        hint: 'Expected "name==version --hash=sha256:…", as sandpy image build --lock writes it; remove the file to have it written anew.',
      },
    );
  }
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

/** The text of a lock; {@link parseLock} reads it. */
export function renderLock(lines: readonly string[]): string {
  return `# What an image of sandpy holds; written by sandpy image build --lock.\n${lines.join("\n")}\n`;
}

function usage(message: string, hint: string): BridgeError {
  return new BridgeError("USAGE", message, { hint });
}
