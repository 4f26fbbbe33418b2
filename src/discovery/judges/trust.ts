import { realFolder, trustSubject } from "../trust/subject.ts";
import type { TrustEntry } from "../trust/trust-store.ts";
import type { Judge } from "./judge.ts";

/**
 * Refuses what a project file defines, until the user has trusted exactly that: whoever wrote the project must not
 * choose what runs on this machine.
 */
export function createTrustJudge(entries: readonly TrustEntry[]): Judge {
  const pins = new Map(entries.map((entry) => [keyOf(entry), entry.pin]));
  const folders = new Map<string, Promise<string>>();
  const resolveFolder = (folder: string) => {
    const resolved = folders.get(folder) ?? realFolder(folder);
    folders.set(folder, resolved);
    return resolved;
  };
  return async (server) => {
    const subject = await trustSubject(server, resolveFolder);
    if (subject === undefined) return undefined;
    const pin = pins.get(keyOf(subject));
    if (pin === subject.pin) return undefined;
    return { kind: "untrusted", folder: subject.namedFolder, changed: pin !== undefined };
  };
}

function keyOf({ folder, file, key }: Pick<TrustEntry, "folder" | "file" | "key">): string {
  return JSON.stringify([folder, file, key]);
}
