import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Closable } from "../../core/lifecycle.ts";
import type { Log } from "../../core/log.ts";
import type { ServerDefinition } from "../../discovery/server-definition.ts";
import type { ToolSummary } from "../../kernel/host-tools.ts";
import { refusalOf } from "../tool-filter.ts";
import { CatalogueFiles } from "./files.ts";
import { parseStoredServer, renderStoredServer, type StoredServer } from "./stored-server.ts";

/** Another bridge may have asked the server meanwhile: its file is looked at again after this long. */
const RECHECK_MS = 30_000;
const MAX_READS = 32;

/** What a server said of itself and its tools when it was asked last. */
export interface KnownServer {
  /** Those that the definition's filter lets through. */
  readonly tools: readonly ToolSummary[];
  /** Milliseconds since 1970. */
  readonly fetchedAt: number;
  readonly info: StoredServer["info"];
}

/**
 * The tools of servers, running or not, as far as any bridge of this user has ever listed them. For documentation and
 * search:
 *
 *     await catalogue.load(servers);                  // reads what is not in memory; cheap when nothing changed
 *     const known = catalogue.known(definition);      // undefined: the server was never asked, or not since it changed
 *     const forget = catalogue.onChange((name) => …); // the tools of that server are others now
 *
 * `known` gives the same object until the tools change or are fetched again, so an index can be kept by identity.
 */
export interface CatalogueReader {
  /** Reads from disk what is not in memory yet. Never rejects: what cannot be read is not known. */
  load(definitions: readonly ServerDefinition[]): Promise<void>;
  /** What is known of a server; answers from memory, so `load` comes first. */
  known(definition: ServerDefinition): KnownServer | undefined;
  /** Calls `listener` with a server's name after its tools changed; returns how to stop that. */
  onChange(listener: (server: string) => void): () => void;
}

export interface CatalogueOptions {
  /** Where it is kept; `undefined`: in memory alone. */
  readonly folder: string | undefined;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Entry {
  server: StoredServer | undefined;
  /** The file's time of modification, where the entry comes from one. */
  modifiedAt: number | undefined;
  checkedAt: number;
}

/** The catalogue of one bridge. Who creates it closes it: that waits for what is being written. */
export class Catalogue implements CatalogueReader, Closable {
  readonly #files: CatalogueFiles;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #views = new WeakMap<StoredServer, { filter: ServerDefinition["tools"]; view: KnownServer }>();
  readonly #listeners = new Set<(server: string) => void>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ folder, log, now = Date.now }: CatalogueOptions) {
    this.#files = new CatalogueFiles(folder, log);
    this.#log = log;
    this.#now = now;
  }

  async load(definitions: readonly ServerDefinition[]): Promise<void> {
    const due = definitions.filter((definition) => {
      const entry = this.#entries.get(keyOf(definition));
      return entry === undefined || this.#now() - entry.checkedAt > RECHECK_MS;
    });
    // A few at a time: a thousand open files at once are more than some systems allow.
    const readers = Array.from({ length: Math.min(MAX_READS, due.length) }, async () => {
      for (let next = due.pop(); next !== undefined; next = due.pop()) await this.#read(next);
    });
    await Promise.all(readers);
  }

  known(definition: ServerDefinition): KnownServer | undefined {
    const server = this.#entries.get(keyOf(definition))?.server;
    if (server === undefined) return undefined;
    const made = this.#views.get(server);
    if (made !== undefined && isDeepStrictEqual(made.filter, definition.tools)) return made.view;
    const tools = server.tools.filter((tool) => refusalOf(definition.tools, tool) === undefined);
    const view = { tools, fetchedAt: server.fetchedAt, info: server.info };
    this.#views.set(server, { filter: definition.tools, view });
    return view;
  }

  onChange(listener: (server: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes what a running server just said. It is on disk when `close` has resolved, or a moment later. */
  store(definition: ServerDefinition, info: StoredServer["info"], tools: readonly ToolSummary[]): void {
    const key = keyOf(definition);
    const server = { info, tools, fetchedAt: this.#now() };
    this.#put(definition, { server, modifiedAt: undefined, checkedAt: server.fetchedAt });
    this.#writing = this.#writing.then(async () => {
      const entry = this.#entries.get(key);
      if (entry?.server !== server) return; // a newer one is behind this one
      entry.modifiedAt = await this.#files.write(key, renderStoredServer(server));
    });
  }

  /** Forgets, in memory alone, the servers that are not defined any more. */
  retain(definitions: readonly ServerDefinition[]): void {
    const wanted = new Set(definitions.map(keyOf));
    for (const key of this.#entries.keys()) if (!wanted.has(key)) this.#entries.delete(key);
  }

  close(): Promise<void> {
    return this.#writing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read(definition: ServerDefinition): Promise<void> {
    const key = keyOf(definition);
    const before = this.#entries.get(key);
    const file = await this.#files.read(key, before?.modifiedAt);
    if (this.#entries.get(key) !== before) return; // the server itself answered meanwhile
    const checkedAt = this.#now();
    if (file === "unchanged" && before !== undefined) before.checkedAt = checkedAt;
    else if (typeof file === "object") {
      const server = parseStoredServer(file.text);
      this.#put(definition, { server: server ?? before?.server, modifiedAt: file.modifiedAt, checkedAt });
    } else this.#put(definition, { server: before?.server, modifiedAt: undefined, checkedAt });
  }

  #put(definition: ServerDefinition, entry: Entry): void {
    const key = keyOf(definition);
    const before = this.#entries.get(key);
    this.#entries.set(key, entry);
    if (entry.server === before?.server) return;
    if (before?.server !== undefined) {
      if (isDeepStrictEqual(entry.server?.tools, before.server.tools)) return;
      // What a tool does may have changed under a name that somebody has come to trust.
      this.#log.info("server has other tools than before", {
        server: definition.name,
        ...countChanges(before.server.tools, entry.server?.tools ?? []),
      });
    }
    for (const listener of this.#listeners) listener(definition.name);
  }
}

function countChanges(old: readonly ToolSummary[], now: readonly ToolSummary[]) {
  const before = new Map(old.map((tool) => [tool.name, tool]));
  const added = now.filter(({ name }) => !before.has(name)).length;
  const kept = now.filter((tool) => isDeepStrictEqual(before.get(tool.name), tool)).length;
  return { added, changed: now.length - added - kept, removed: old.length - (now.length - added) };
}

/** The name belongs to it: two entries may start the same program and differ in the value of a variable alone. */
function keyOf({ fingerprint, name }: ServerDefinition): string {
  return createHash("sha256")
    .update(JSON.stringify([fingerprint, name]))
    .digest("hex");
}
