import { stat } from "node:fs/promises";
import type { Config } from "../config/config.ts";
import { listFiles } from "./collect.ts";
import { locatePolicies } from "./policies/load-policies.ts";
import { TrustStore } from "./trust/trust-store.ts";

/**
 * A text that is another one after any change of the files that `discover` reads: those that are there, those that may
 * come, what policies say, and what the user trusts. It costs one look at each, without reading it: this is done far
 * more often than the files change, and works on every file system, where notifications of changes do not.
 */
export async function stampOf(config: Config): Promise<string> {
  const [files, policies] = await Promise.all([listFiles(config), locatePolicies(config)]);
  const paths = [...files, ...policies, new TrustStore(config.dataDir).file];
  return (await Promise.all(paths.map(stampOfFile))).join("\n");
}

async function stampOfFile(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${path} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return `${path} ${(error as NodeJS.ErrnoException).code}`;
  }
}
