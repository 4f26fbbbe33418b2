import type { Config } from "../../config/config.ts";
import { detectEngine } from "../../container/detect.ts";
import type { ContainerEngine } from "../../container/engine.ts";
import type { Log } from "../../core/log.ts";

/** The engine whose images the bridge would use. Rejects with `ENGINE_NOT_FOUND`. */
export function findEngine(
  { engine, ociRuntime, env }: Config,
  log: Log,
  signal: AbortSignal,
): Promise<ContainerEngine> {
  return detectEngine({ engine, ociRuntime, env, log }, signal);
}
