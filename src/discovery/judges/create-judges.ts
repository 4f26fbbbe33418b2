import type { Config } from "../../config/config.ts";
import { BridgeError } from "../../core/errors.ts";
import { loadPolicies } from "../policies/load-policies.ts";
import type { DiscoveryProblem } from "../server-definition.ts";
import { type TrustEntry, TrustStore } from "../trust/trust-store.ts";
import { createDepthJudge } from "./depth.ts";
import type { Judge } from "./judge.ts";
import { createPolicyJudge } from "./policy.ts";
import { createSelfJudge } from "./self.ts";
import { createTrustJudge } from "./trust.ts";

/** What only the running program knows. */
export interface JudgeOptions {
  /** The bridge's own executable, for the self-reference check; `undefined` when an interpreter runs it from source. */
  readonly selfPath?: string | undefined;
}

/** Everybody who is asked whether a server may run, for one discovery, and what was wrong with what they go by. */
export interface Judges {
  readonly judges: readonly Judge[];
  readonly problems: readonly DiscoveryProblem[];
}

/** Reads what the judges go by. Never rejects: what cannot be read allows nothing, and is in `problems`. */
export async function createJudges(config: Config, { selfPath }: JudgeOptions): Promise<Judges> {
  const problems: DiscoveryProblem[] = [];
  const judges: Judge[] = [];
  if (!config.allowSelfServer) {
    judges.push(createSelfJudge({ selfPath, searchPath: config.env["PATH"] ?? "" }));
    judges.push(createDepthJudge(config.depth));
  }
  const { policies, problems: faults } = await loadPolicies(config);
  judges.push(createPolicyJudge(policies));
  problems.push(...faults);
  if (!config.trustProject) judges.push(createTrustJudge(await readTrust(config, problems)));
  return { judges, problems };
}

async function readTrust(config: Config, problems: DiscoveryProblem[]): Promise<readonly TrustEntry[]> {
  const store = new TrustStore(config.dataDir);
  try {
    return await store.read();
  } catch (error) {
    const message = error instanceof BridgeError ? error.message : `cannot be read: ${String(error)}`;
    problems.push({ where: store.file, message });
    return [];
  }
}
