import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Origin } from "./server-definition.ts";

/** Where one kind of configuration file is found, and how it is read. */
export interface ConfigSource {
  /** Who writes such files, for listings. */
  readonly client: string;
  readonly scope: Origin["scope"];
  /** The keys that lead to the mapping of servers. */
  readonly serversKey: readonly string[];
  /** The files that may exist, in order of precedence; a directory that cannot be listed rejects, unless it is missing. */
  locate(config: Config): Promise<readonly string[]>;
}

/** Every place where servers are looked for. The first definition of a name wins it. */
export const CONFIG_SOURCES: readonly ConfigSource[] = [
  {
    client: "MCP_SERVERS_CONFIG",
    scope: "explicit",
    serversKey: ["mcpServers"],
    locate: async ({ serversConfig }) => (serversConfig === undefined ? [] : [serversConfig]),
  },
  {
    client: "sandpy",
    scope: "user",
    serversKey: ["mcpServers"],
    locate: ({ stateDir }) => jsonFilesIn(stateDir),
  },
];

async function jsonFilesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error.code === "ENOTDIR"
      ? new Error("it is not a folder: expected one with your *.json files")
      : error;
  });
  return names
    .filter((name) => name.endsWith(".json") && !name.startsWith("."))
    .sort()
    .map((name) => join(directory, name));
}
