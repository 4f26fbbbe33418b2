import type { Config } from "../config/config.ts";
import { assignPythonNames } from "../core/python-names.ts";
import { applyToolPolicy, createAccessJudge } from "./access.ts";
import { collect } from "./collect.ts";
import { createJudges, type JudgeOptions } from "./judges/create-judges.ts";
import { type Judge, judgeServers } from "./judges/judge.ts";
import { merge, type Settled, settle } from "./merge.ts";
import { settleNames } from "./names.ts";
import type { Discovery, DiscoveryProblem } from "./server-definition.ts";

/**
 * Reads the files of every client and makes one list of servers of them, in order of precedence. Never rejects because
 * of a file; what is wrong with one is in `problems`.
 *
 * Judges are asked before definitions are put together, under the names that the files give: so a project that nobody
 * trusts can neither hide a server of the user's nor take its name.
 */
export async function discover(config: Config, options: JudgeOptions = {}): Promise<Discovery> {
  const collection = await collect(config);
  const court = await createJudges(config, options);
  const judged = await judgeAll(settle(collection), court.judges);
  const problems = [...collection.problems, ...court.problems, ...judged.flatMap(describeSelf)];
  const named = settleNames(merge(judged), problems);
  const aliases = assignPythonNames(named.map(({ name }) => name));
  const aliased = named.map((server, index) => ({ ...server, alias: aliases[index] ?? "" }));
  // The user's own settings go by the names that servers are listed under.
  const allowed = await judgeServers(aliased, [createAccessJudge(config.policy.servers)]);
  const servers = allowed.map((server) => applyToolPolicy(server, config.policy));
  return { servers, problems, valueFiles: [...new Set(collection.valueFiles)] };
}

async function judgeAll(settled: readonly Settled[], judges: readonly Judge[]): Promise<readonly Settled[]> {
  const definitions = settled.map(({ definition }) => ({ ...definition, alias: definition.name }));
  const judged = await judgeServers(definitions, judges);
  return settled.map((candidate, index) => {
    const availability = judged[index]?.availability ?? candidate.definition.availability;
    return { ...candidate, definition: { ...candidate.definition, availability } };
  });
}

function describeSelf({ definition: { name, availability, origins } }: Settled): DiscoveryProblem[] {
  const message = `${JSON.stringify(name)} is this program itself and is left out: it would start itself without end`;
  return availability.kind === "self" ? [{ where: origins[0].file, message, isNote: true }] : [];
}
