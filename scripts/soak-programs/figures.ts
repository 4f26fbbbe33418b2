import { existsSync, readdirSync, readFileSync } from "node:fs";
import { containersOf } from "../../test/e2e/helpers/engine.ts";

/** What a bridge holds at one moment. */
export interface Figures {
  readonly memoryMiB: number;
  readonly descriptors: number;
  readonly children: number;
  readonly containers: number;
  /** Files in the folder for temporary ones. */
  readonly files: number;
}

/** Reads them from `/proc` and from the engine; 0 where the system does not say. */
export async function readFigures(pid: number, temporary: string): Promise<Figures> {
  const status = `/proc/${pid}/status`;
  const kib = existsSync(status) ? Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(status, "utf8"))?.[1]) : 0;
  return {
    memoryMiB: Math.round(kib / 1024),
    descriptors: existsSync(status) ? readdirSync(`/proc/${pid}/fd`).length : 0,
    children: childrenOf(pid).length,
    containers: (await containersOf(pid)).length,
    files: readdirSync(temporary, { recursive: true }).length,
  };
}

/** Processes that the bridge started, with their command lines. */
export function childrenOf(pid: number): { readonly pid: number; readonly command: string }[] {
  if (!existsSync("/proc/self")) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((name) => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      if (Number(fields[1]) !== pid) return [];
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      return [{ pid: Number(name), command }];
    } catch {
      return []; // it ended meanwhile
    }
  });
}
