import type { Config } from "../config/config.ts";
import type { HostMemory } from "../kernel/host-memory.ts";
import type { Archive } from "../memory/archive.ts";
import { createMemory } from "../memory/memory.ts";

/** What the local caller keeps: one by one, and as a whole. */
export interface KeptMemory {
  readonly memory: HostMemory;
  readonly archive: Archive;
}

/** Opens what is kept without a bridge. There is nothing to close as long as nothing is held. */
export function openMemory(config: Config): KeptMemory {
  const memory = createMemory({ stateDir: config.stateDir, quotaBytes: config.projectsQuotaBytes });
  return { memory: memory.openSession(), archive: memory.openArchive() };
}
