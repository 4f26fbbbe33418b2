import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import install from "../../../sandbox/image/install.py" with { type: "text" };
import packHost from "../../../sandbox/image/pack_host.py" with { type: "text" };

/** The Python that builds images. */
export const PROGRAMS = { install, packHost } as const;

/** Writes one of them into a folder, for an interpreter of this machine; returns its path. */
export async function writeProgram(name: keyof typeof PROGRAMS, folder: string): Promise<string> {
  const path = join(folder, `${name}.py`);
  await writeFile(path, PROGRAMS[name]);
  return path;
}
