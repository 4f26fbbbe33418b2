import { type Caller, LOCAL_CALLER } from "../core/caller.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { HostMemory } from "../kernel/host-memory.ts";
import { Archive } from "./archive.ts";
import type { Kept } from "./kept.ts";
import { HOLD_WAIT_MS, LEASE_MS } from "./limits.ts";
import { Locks } from "./locks.ts";
import { EntryFiles } from "./projects/entry-files.ts";
import { ProjectFiles } from "./projects/project-files.ts";
import { OpenUploads } from "./projects/upload.ts";
import { CallerRoot } from "./root.ts";
import { SessionMemory } from "./session-memory.ts";
import { MemoryStore } from "./store.ts";
import { ToolsFile } from "./tools-file.ts";
import { Usage } from "./usage.ts";

/** Callers that are remembered; an HTTP server may have any number. */
const MAX_CALLERS = 1000;

export interface MemoryOptions {
  /** Absolute. */
  readonly stateDir: string;
  /** What one caller may keep. */
  readonly quotaBytes: number;
  /** How long something may be held, and how long one that holds it is waited for: 60 s and 8 s. */
  readonly leaseMs?: number;
  readonly waitMs?: number;
}

/** All that is kept for those who run code. */
export interface Memory extends Closable {
  /** What one session may do with what is kept for `caller`, the local one if absent. */
  openSession(caller?: Caller): HostMemory;
  /** All of it, for whoever keeps it. */
  openArchive(caller?: Caller): Archive;
}

/** Opens what is kept below a state directory, which is not touched before something is asked for. */
export function createMemory(options: MemoryOptions): Memory {
  const { stateDir, quotaBytes, leaseMs = LEASE_MS, waitMs = HOLD_WAIT_MS } = options;
  const locks = new Locks(waitMs);
  const callers = new Map<string, Kept>();
  const holders = new Set<SessionMemory>();
  const uploads = new OpenUploads();

  const open = (caller: Caller): Kept => {
    const known = callers.get(caller.id);
    if (known !== undefined) return known;
    const root = new CallerRoot(stateDir, caller);
    const usage = new Usage(root.projects, quotaBytes);
    const entries = {
      root,
      locks,
      memories: new MemoryStore(root, usage),
      tools: new ToolsFile(root, usage),
    };
    const projects = new ProjectFiles(root, usage, new EntryFiles(entries, usage), locks);
    const kept: Kept = { ...entries, projects };
    callers.set(caller.id, kept);
    const [oldest = ""] = callers.keys();
    if (callers.size > MAX_CALLERS) callers.delete(oldest); // what it knows is read again from the disk
    return kept;
  };
  const close = async () => {
    await Promise.all([...holders].map((session) => session.releaseAll()));
  };

  return {
    openSession(caller = LOCAL_CALLER) {
      return new SessionMemory(open(caller), leaseMs, holders, uploads);
    },
    openArchive: (caller = LOCAL_CALLER) => new Archive(open(caller)),
    close,
    [Symbol.asyncDispose]: close,
  };
}
