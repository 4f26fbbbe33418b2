import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Of `statfs(2)`: ext, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs, overlay. */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/**
 * Whether what lies at `path`, or will, is on a disk of this machine, which is known of Linux only. A look at it then takes
 * microseconds, less than a thread to look with; a network may keep whoever looks waiting without end. Never rejects.
 */
export async function isOnLocalDisk(path: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  for (let folder = path; ; folder = dirname(folder)) {
    const facts = await statfs(folder).catch(() => undefined);
    if (facts !== undefined) return LOCAL_TYPES.has(facts.type >>> 0);
    if (folder === dirname(folder)) return false;
  }
}
