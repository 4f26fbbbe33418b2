/** What is kept of one memory beside its value; times in seconds since the epoch. */
export interface MemoryInfo {
  readonly key: string;
  readonly created_at: number;
  readonly updated_at: number;
  /** The size of its file. */
  readonly bytes: number;
  /** JSON text of the metadata, `null` where there is none. */
  readonly metadata: string | null;
}

/** One memory whole. `value` is JSON text, as it was given: numbers keep their digits. */
export interface Memory extends MemoryInfo {
  readonly value: string;
}

/** A file among the memories that is none, or is damaged; `reason` completes "it …". */
export interface UnreadableMemory {
  readonly file: string;
  readonly reason: string;
}

/** Memories sorted by key, and what lies among them. */
export interface MemoryList {
  readonly memories: readonly MemoryInfo[];
  readonly unreadable: readonly UnreadableMemory[];
}

/** An exclusive hold on one memory or on the saved tools, until it is given back or has taken too long. */
export interface Lease {
  /** Cannot be guessed; of use to the session that it was given to alone. */
  readonly lease: string;
}

/** A file of `/projects` as the host keeps it. */
export interface ProjectFile {
  /** Relative to `/projects`, with `/` between its parts. */
  readonly path: string;
  readonly bytes: number;
  /** Changes whenever the content does. */
  readonly version: string;
  /** In seconds since the epoch. */
  readonly modified_at: number;
}

/** All files of `/projects`, sorted by path; `state` stands for them. */
export interface ProjectList {
  readonly state: string;
  readonly files: readonly ProjectFile[];
}

/** A piece of a file; `data` is base64 of at most 4 MiB. */
export interface FilePiece {
  readonly path: string;
  readonly offset: number;
  readonly data: string;
}

/** A piece that was asked for: of which version of the file it is, and how long that is. */
export interface ReadPiece extends FilePiece {
  readonly version: string;
  readonly bytes: number;
}

/** One to be kept: how long the file is, and the version that it is to replace; "" for none. */
export interface NewPiece extends FilePiece {
  readonly total: number;
  readonly base: string;
}

/**
 * What Python may keep on the host. `memory` implements it, one for each session; those of one caller share what is kept.
 * Methods reject with a BridgeError of a `MEMORY_*` code, or `LIMIT_EXCEEDED`, and stop early when `signal` aborts.
 * Whatever is given is untrusted.
 */
export interface HostMemory {
  listMemories(signal: AbortSignal): Promise<MemoryList>;
  /** `null`: there is none of that key. */
  loadMemory(key: string, signal: AbortSignal): Promise<Memory | null>;
  /** Creates or replaces. `metadata` is JSON text of an object; `null` keeps what there is. */
  saveMemory(
    entry: { readonly key: string; readonly value: string; readonly metadata: string | null },
    signal: AbortSignal,
  ): Promise<MemoryInfo>;
  /** Whether there was one. */
  deleteMemory(key: string, signal: AbortSignal): Promise<boolean>;
  /** Waits until nobody else holds it; until it is given back, saving and deleting of that key wait too. */
  holdMemory(key: string, signal: AbortSignal): Promise<Lease & { readonly memory: Memory | null }>;
  /** Saves what the hold is on, keeping `created_at` and metadata, and gives it back. */
  commitMemory(change: Lease & { readonly value: string }, signal: AbortSignal): Promise<MemoryInfo>;
  /** Waits until nobody else holds the file of saved tools; `source` is its text, "" where there is none. */
  holdTools(signal: AbortSignal): Promise<Lease & { readonly source: string }>;
  /** Replaces the file, and gives it back. */
  commitTools(change: Lease & { readonly source: string }, signal: AbortSignal): Promise<void>;
  /** Gives a hold back with nothing changed; one that is not held any more is no fault. */
  release(lease: Lease): Promise<void>;
  /** Cheap, since each execution asks: changes whenever anything of `/projects` does. "" where nothing is kept. */
  projectState(): Promise<string>;
  listProjectFiles(signal: AbortSignal): Promise<ProjectList>;
  readProjectFile(
    file: { readonly path: string; readonly offset: number },
    signal: AbortSignal,
  ): Promise<ReadPiece>;
  /**
   * Pieces come in order from offset 0; with the last, of which `total` is the end, the file is replaced at once. Resolves
   * with "changed" where the file is not of the version `base` any more, has another content, and was left alone.
   */
  writeProjectFile(piece: NewPiece, signal: AbortSignal): Promise<ProjectFile | "changed" | null>;
  /** `false` where the file is not of that version any more, and was left alone. */
  removeProjectFile(
    file: { readonly path: string; readonly base: string },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** The Python process that held what is held is gone, or the session is. */
  releaseAll(): Promise<void>;
}
