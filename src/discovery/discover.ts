import { basename, extname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config/config.ts";
import { assignPythonNames } from "../core/python-names.ts";
import { CONFIG_SOURCES, type ConfigSource } from "./clients.ts";
import { createJudges, type JudgeOptions } from "./judges/create-judges.ts";
import { judgeServers } from "./judges/judge.ts";
import { type FileServers, type NamedDefinition, normalizeDocument } from "./normalize.ts";
import { readConfigFile } from "./read.ts";
import type { Discovery, DiscoveryProblem, ServerDefinition } from "./server-definition.ts";

/**
 * Reads every configuration source and names the servers: the first definition of a name keeps it, the same one again
 * is dropped, and a different one becomes `name@<file>`. Never rejects because of a file; what is wrong with one is in
 * `problems`.
 */
export async function discover(config: Config, options: JudgeOptions = {}): Promise<Discovery> {
  const problems: DiscoveryProblem[] = [];
  const found: NamedDefinition[] = [];
  for (const source of CONFIG_SOURCES) {
    for (const file of await readSource(source, config)) {
      problems.push(...file.problems);
      found.push(...file.servers);
    }
  }
  const named = settleNames(found, problems);
  const aliases = assignPythonNames(named.map(({ name }) => name));
  const definitions = named.map((server, index) => ({ ...server, alias: aliases[index] ?? "" }));
  const court = await createJudges(config, options);
  const servers = await judgeServers(definitions, court.judges);
  return { servers, problems: [...problems, ...court.problems, ...servers.flatMap(describeSelf)] };
}

function describeSelf({ name, availability, origins: [origin] }: ServerDefinition): DiscoveryProblem[] {
  const message = `${JSON.stringify(name)} is this program itself and is left out: it would start itself without end`;
  return availability.kind === "self" ? [{ where: origin.file, message }] : [];
}

async function readSource(source: ConfigSource, config: Config): Promise<readonly FileServers[]> {
  let files: readonly string[];
  try {
    files = await source.locate(config);
  } catch (error) {
    const message = `cannot be listed: ${error instanceof Error ? error.message : String(error)}`;
    return [{ servers: [], problems: [{ where: config.stateDir, message }] }];
  }
  return Promise.all(files.map((file) => readServers(file, source, config.homeDir)));
}

async function readServers(file: string, source: ConfigSource, homeDir: string): Promise<FileServers> {
  const outcome = await readConfigFile(file);
  switch (outcome.kind) {
    case "document":
      return normalizeDocument(outcome.document, source, homeDir);
    case "problem":
      return { servers: [], problems: [outcome.problem] };
    case "missing": {
      const message = `does not exist: expected the file that ${source.client} names`;
      return { servers: [], problems: source.scope === "explicit" ? [{ where: file, message }] : [] };
    }
    case "empty":
      return { servers: [], problems: [] };
  }
}

function settleNames(
  found: readonly NamedDefinition[],
  problems: DiscoveryProblem[],
): readonly NamedDefinition[] {
  const byName = new Map<string, NamedDefinition>();
  for (const server of found) {
    const first = byName.get(server.name);
    if (first === undefined) byName.set(server.name, server);
    else if (![...byName.values()].some((known) => isSameServer(known, server))) {
      const name = freeName(server, byName);
      byName.set(name, { ...server, name });
      const [old, renamed] = [server.name, name].map((text) => JSON.stringify(text));
      const message = `${old} is a different server in ${first.origins[0].file}; this one is called ${renamed}`;
      problems.push({ where: server.origins[0].file, message });
    }
  }
  return [...byName.values()];
}

function isSameServer(one: NamedDefinition, other: NamedDefinition): boolean {
  return one.origins[0].key === other.origins[0].key && isDeepStrictEqual(one.transport, other.transport);
}

function freeName({ name, origins: [origin] }: NamedDefinition, taken: ReadonlyMap<string, unknown>): string {
  const wanted = `${name}@${basename(origin.file, extname(origin.file))}`;
  let free = wanted;
  for (let count = 2; taken.has(free); count++) free = `${wanted}-${count}`;
  return free;
}
