import { basename, extname } from "node:path";
import type { NamedDefinition } from "./entry/entry.ts";
import type { Settled } from "./merge.ts";
import type { DiscoveryProblem } from "./server-definition.ts";

/** More are not told one by one. */
const MAX_PROBLEMS = 100;

/**
 * Makes names unique. A name belongs to the first server that may be used, else to the first that has it; others with
 * that name become `name@client`, or `name@file` where files stand for themselves.
 */
export function settleNames(
  settled: readonly Settled[],
  problems: DiscoveryProblem[],
): readonly NamedDefinition[] {
  const owners = new Map<string, Settled>();
  const isUsable = ({ definition }: Settled) => definition.availability.kind === "usable";
  for (const server of [...settled.filter(isUsable), ...settled]) {
    if (!owners.has(server.definition.name)) owners.set(server.definition.name, server);
  }
  const taken = new Set(owners.keys());
  const counts = new Map<string, number>();
  let renamedCount = 0;
  return settled.map((server) => {
    const { definition } = server;
    const owner = owners.get(definition.name);
    if (owner === undefined || owner === server) return definition;
    const name = freeName(server, taken, counts);
    taken.add(name);
    renamedCount++;
    if (renamedCount > MAX_PROBLEMS) return { ...definition, name };
    const [old, renamed] = [definition.name, name].map((text) => JSON.stringify(text));
    const message = `${old} is a different server in ${owner.definition.origins[0].file}; this one is called ${renamed}`;
    problems.push({ where: definition.origins[0].file, message });
    return { ...definition, name };
  });
}

function freeName(
  { definition, isBare }: Settled,
  taken: ReadonlySet<string>,
  counts: Map<string, number>,
): string {
  const [{ client, file }] = definition.origins;
  const source = isBare
    ? basename(file, extname(file))
    : client
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-|-$/g, "");
  const wanted = `${definition.name}@${source}`;
  let free = wanted;
  let count = counts.get(wanted) ?? 1;
  while (taken.has(free)) {
    count++;
    free = `${wanted}-${count}`;
  }
  counts.set(wanted, count);
  return free;
}
