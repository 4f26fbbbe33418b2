import { readFileSync } from "node:fs";

const MB = 1e6;

/** Whether the memory of processes can be read here. */
export const canReadMemory = process.platform === "linux";

/** Megabytes of a process now, and the most that it ever had. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / MB;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
