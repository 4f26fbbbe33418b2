import { mkdir } from "node:fs/promises";

/** Makes one folder, for nobody else to enter; `false` where there is something of that name. */
export async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
