import type { Config } from "../../config/config.ts";
import type { Judge } from "./judge.ts";
import { createSelfJudge } from "./self.ts";

/** What only the running program knows. */
export interface JudgeOptions {
  /** The bridge's own executable, for the self-reference check; `undefined` when an interpreter runs it from source. */
  readonly selfPath?: string | undefined;
}

/** Everybody who is asked whether a server may run, for one discovery. */
export function createJudges(config: Config, { selfPath }: JudgeOptions): readonly Judge[] {
  return config.allowSelfServer ? [] : [createSelfJudge({ selfPath, searchPath: config.env["PATH"] ?? "" })];
}
