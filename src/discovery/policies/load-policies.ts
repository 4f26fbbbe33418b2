import type { Config } from "../../config/config.ts";
import { readConfigFile } from "../read.ts";
import type { DiscoveryProblem } from "../server-definition.ts";
import { loadAmpPolicy } from "./amp.ts";
import { loadClaudeCodePolicy } from "./claude-code.ts";
import { loadCodexPolicy } from "./codex.ts";
import { loadCopilotPolicy, loadVsCodePolicy } from "./copilot.ts";
import { loadGeminiPolicy, loadQwenPolicy } from "./gemini.ts";
import { type LoadPolicy, type Policy, PolicyFiles } from "./policy.ts";

/** Every client whose organisation can say in a file which servers it may have. */
const LOADERS: readonly LoadPolicy[] = [
  loadClaudeCodePolicy,
  loadCopilotPolicy,
  loadVsCodePolicy,
  loadGeminiPolicy,
  loadQwenPolicy,
  loadCodexPolicy,
  loadAmpPolicy,
];

/** All policies that are in force here, and what is wrong with their files. */
export interface Policies {
  readonly policies: readonly Policy[];
  readonly problems: readonly DiscoveryProblem[];
}

/** Reads the policies of all clients. Never rejects: a file that cannot be read forbids all servers of its client. */
export async function loadPolicies(config: Config): Promise<Policies> {
  const files = new PolicyFiles(readConfigFile);
  const loaded = await Promise.all(LOADERS.map((load) => load({ config, files })));
  return { policies: loaded.filter((policy) => policy !== undefined), problems: files.problems };
}

/** The files that hold policies, or would; reads none of them. */
export async function locatePolicies(config: Config): Promise<readonly string[]> {
  const files = new PolicyFiles(async () => ({ kind: "missing" }));
  await Promise.all(LOADERS.map((load) => load({ config, files })));
  return files.paths;
}
