/** Writes docs/config.schema.json anew from the settings' own table: `bun scripts/config-schema.ts`. A test says when it is due. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileSchema } from "../src/config/file-schema.ts";
import { runChild } from "../src/core/child.ts";

const ROOT = join(import.meta.dir, "..");
const FILE = join(ROOT, "docs/config.schema.json");

writeFileSync(FILE, `${JSON.stringify(createFileSchema(), undefined, 2)}\n`);
const { code, stderr } = await runChild({
  command: join(ROOT, "node_modules/.bin/biome"),
  args: ["format", "--write", FILE],
  env: { PATH: process.env["PATH"] ?? "" },
  cwd: ROOT,
  timeoutMs: 60_000,
  maxChars: 65_536,
});
if (code !== 0) throw new Error(`biome could not format it: ${stderr}`);
