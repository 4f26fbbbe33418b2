import { readdirSync, readFileSync } from "node:fs";

const MB = 1e6;

/** Whether the memory of processes can be read here. */
export const canReadMemory = process.platform === "linux";

/** Megabytes of a process now, and the most that it ever had. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / MB;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Megabytes of some processes, each page divided by how many have it; throws for those of another user. */
export function proportionalMemoryOf(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    try {
      const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
      sum += (Number(kilobytes ?? 0) * 1024) / MB;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ESRCH") throw error; // it has ended
    }
  }
  return sum;
}

/** A process, and who started it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All processes that can be seen. */
export function listProcesses(): readonly ProcessEntry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(name), parent, command }];
      } catch {
        return []; // it has ended
      }
    });
}

/** The pids of `roots` and all their descendants. */
export function withDescendants(
  roots: readonly number[],
  processes: readonly ProcessEntry[],
): readonly number[] {
  const found = new Set(roots);
  let size = 0;
  while (size !== found.size) {
    size = found.size;
    for (const { pid, parent } of processes) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}
