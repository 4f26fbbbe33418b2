import { saveClientFile } from "./client-file.ts";
import type { FileChange } from "./plan.ts";

/** Makes changes in their order; rejects at the first that cannot be made, with the later ones not begun. */
export async function applyChanges(changes: readonly FileChange[]): Promise<void> {
  for (const { file, after, fate } of changes) await saveClientFile(file, after, fate);
}
