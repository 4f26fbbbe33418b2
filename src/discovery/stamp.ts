import { stat } from "node:fs/promises";
import type { Config } from "../config/config.ts";
import { listFiles } from "./collect.ts";
import { locatePolicies } from "./policies/load-policies.ts";
import { TrustStore } from "./trust/trust-store.ts";

/** Which files there may be changes with folders that nobody watches too, such as a new `.git`. */
const RELIST_MS = 5000;

interface Listing {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly foldersStamp: string;
  readonly at: number;
}

/**
 * Returns a function that gives another text after any change of the files that `discover` reads: those that are
 * there, those that may come, the `valueFiles` of the last discovery, what policies say, and what the user trusts. It
 * looks at each without reading it: this is done far more often than the files change, and works on every file system,
 * where notifications of changes do not.
 */
export function createStamp(
  config: Config,
  valueFiles: () => readonly string[] = () => [],
): () => Promise<string> {
  let listing: Listing | undefined;
  return async () => {
    // Changes in a project's folder are frequent: they only matter if there are other files to look at then.
    const isDue = listing === undefined || performance.now() - listing.at > RELIST_MS;
    if (isDue || (await stampOf(listing?.folders ?? [])) !== listing?.foldersStamp) {
      listing = await list(config);
    }
    return stampOf([...(listing?.files ?? []), ...valueFiles()]);
  };
}

async function list(config: Config): Promise<Listing> {
  const [{ files, folders }, policies] = await Promise.all([listFiles(config), locatePolicies(config)]);
  const foldersStamp = await stampOf(folders);
  return {
    files: [...files, ...policies, new TrustStore(config.dataDir).file],
    folders,
    foldersStamp,
    at: performance.now(),
  };
}

async function stampOf(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map(stampOfPath))).join("\n");
}

async function stampOfPath(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${path} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return `${path} ${(error as NodeJS.ErrnoException).code}`;
  }
}
