import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SearchableServer } from "../../src/upstream/search/tool-search.ts";
import type { World } from "./world.ts";

/** What somebody wanted, step by step, and the tools that it took. */
export interface Task {
  readonly id: string;
  readonly queries: readonly string[];
  readonly tools: readonly string[];
}

/** A catalogue of real servers and tasks for them. */
export interface Livemcp {
  readonly catalogFile: string;
  readonly servers: readonly SearchableServer[];
  readonly tasks: readonly Task[];
}

/** Reads it from beside this repository, which it is not part of; says so in a line where it is absent. */
export function readLivemcp(world: World, bench: string): Livemcp | undefined {
  const folder = resolve(world.root, "../shared/livemcp");
  const catalogFile = join(folder, "catalog.json");
  if (!existsSync(catalogFile)) {
    process.stderr.write(
      `bench: ${bench} is left out, since ../shared/livemcp is not beside the repository\n`,
    );
    return undefined;
  }
  return {
    catalogFile,
    servers: JSON.parse(readFileSync(catalogFile, "utf8")) as SearchableServer[],
    tasks: JSON.parse(readFileSync(join(folder, "tasks.json"), "utf8")) as Task[],
  };
}

/** Defines a process for each server of the catalogue. */
export function defineCatalog(world: World, { catalogFile, servers }: Livemcp): void {
  const program = join(import.meta.dir, "programs/catalog-server.ts");
  const entries = servers.map(({ name, description }) => {
    const entry = { command: process.execPath, args: [program, catalogFile, name], description };
    return [name, entry] as const;
  });
  world.defineServers(Object.fromEntries(entries));
}
