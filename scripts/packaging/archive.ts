import { createWriteStream } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { create } from "tar";
import { ZipFile } from "yazl";

/** What differs between machines and days is fixed, so that the same content gives the same bytes. */
export interface ArchiveOptions {
  /** Its only folder below `parent`; the archive holds this one folder. */
  readonly folder: string;
  readonly parent: string;
  readonly file: string;
  /** Of every entry. */
  readonly modified: Date;
}

const EXECUTABLE = /^[^/]+\/sandpy(\.exe)?$/;

/** Writes a `.tar.gz` or a `.zip`, as the name of the file says: sorted, of user 0, with the given time. */
export async function writeArchive(options: ArchiveOptions): Promise<void> {
  await mkdir(dirname(options.file), { recursive: true });
  await rm(options.file, { force: true });
  const files = await listFiles(join(options.parent, options.folder));
  const entries = files.map((file) => `${options.folder}/${file}`);
  if (options.file.endsWith(".zip")) await writeZip(entries, options);
  else await writeTar(entries, options);
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

async function writeTar(
  entries: readonly string[],
  { parent, file, modified }: ArchiveOptions,
): Promise<void> {
  await create(
    {
      file,
      cwd: parent,
      gzip: { level: 9 },
      portable: true, // no owner, no device: those of whoever builds say nothing
      mtime: modified,
      noDirRecurse: true,
      onWriteEntry(entry) {
        if (entry.stat === undefined) return;
        entry.stat.mode = modeOf(entry.path);
        entry.stat.uid = 0;
        entry.stat.gid = 0;
      },
    },
    [...entries],
  );
}

async function writeZip(
  entries: readonly string[],
  { parent, file, modified }: ArchiveOptions,
): Promise<void> {
  const zip = new ZipFile();
  const options = { mtime: inLocalTime(modified), forceDosTimestamp: true, compressionLevel: 9 };
  for (const entry of entries) zip.addFile(join(parent, entry), entry, { ...options, mode: modeOf(entry) });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}

function modeOf(path: string): number {
  return EXECUTABLE.test(path) ? 0o100755 : 0o100644;
}

/** A zip keeps local time, without saying of where: this date has there what the given one has in UTC. */
function inLocalTime(date: Date): Date {
  const day = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()] as const;
  return new Date(...day, date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds());
}
