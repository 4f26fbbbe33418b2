import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "../core/atomic-file.ts";
import { BridgeError } from "../core/errors.ts";
import { explainFileFault } from "../core/file-faults.ts";
import { createFileSchema, type FileSetting, listFileSettings } from "./file-schema.ts";

/** The schema beside a file that {@link writeStarterFile} has written: it fits this version. */
const SCHEMA_NAME = "config.schema.json";

/** A configuration file in which every setting stands as a comment, with what it is for and its default. */
export function renderStarterFile(): string {
  const lines = [
    "{",
    '  // Settings of Sandpy. A line counts once the slashes before it are gone; "sandpy config" shows what counts.',
    `  "$schema": ${JSON.stringify(`./${SCHEMA_NAME}`)},`,
  ];
  let open: readonly string[] = [];
  for (const setting of listFileSettings()) {
    const groups = setting.path.slice(0, -1);
    const shared = groups.findIndex((key, depth) => open[depth] !== key);
    const common = Math.min(shared === -1 ? groups.length : shared, open.length);
    for (let depth = open.length; depth > common; depth--) lines.push(`${indent(depth)}},`);
    for (let depth = common; depth < groups.length; depth++) {
      lines.push("", `${indent(depth + 1)}${JSON.stringify(groups[depth])}: {`);
    }
    open = groups;
    if (lines.at(-1)?.endsWith("{") !== true) lines.push("");
    lines.push(...renderSetting(setting, groups.length + 1));
  }
  for (let depth = open.length; depth > 0; depth--) lines.push(`${indent(depth)}},`);
  return `${lines.join("\n")}\n}\n`;
}

function renderSetting({ path, about, fallback, example }: FileSetting, depth: number): readonly string[] {
  const shown = JSON.stringify(fallback ?? example).replaceAll(",", ", ");
  return [
    `${indent(depth)}// ${about}${fallback === undefined ? " Not set; for example:" : ""}`,
    `${indent(depth)}// ${JSON.stringify(path.at(-1))}: ${shown},`,
  ];
}

function indent(depth: number): string {
  return "  ".repeat(depth);
}

/**
 * Writes a {@link renderStarterFile} and the schema beside it, for the user alone. Throws `USAGE` where there is a file
 * already, which stays as it is.
 */
export async function writeStarterFile(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(path, renderStarterFile(), { isNew: true });
    await replaceFile(join(folder, SCHEMA_NAME), `${JSON.stringify(createFileSchema(), undefined, 2)}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      const message = `there is a configuration file at ${JSON.stringify(path)} already`;
      throw new BridgeError("USAGE", message, {
        hint: 'It stays as it is. Type "sandpy config" for what counts.',
      });
    }
    const { what, hint = "Name another file with --config." } = explainFileFault(error);
    throw new BridgeError("CONFIG_INVALID", `${JSON.stringify(path)} cannot be written: ${what}`, {
      hint,
      cause: error,
    });
  }
}
