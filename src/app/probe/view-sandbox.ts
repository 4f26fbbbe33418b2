import type { Config } from "../../config/config.ts";
import type { ContainerEngine } from "../../container/engine.ts";
import { parseView, type SandboxView, VIEW_COMMAND } from "../../kernel/probes.ts";
import { type ProbeRun, probeSpec, runProbe } from "./run-probe.ts";

/** The engine's own failure, the OCI runtime's, and a program that is not in the image: see `SandboxExit`. */
export const NOT_STARTED: readonly unknown[] = [125, 126, 127];

/** What was seen, and the way to run the engine by which it was; or how the first way failed. */
export type Viewing =
  | { readonly engine: ContainerEngine; readonly view: SandboxView }
  | { readonly failure: ProbeRun };

/** Looks at a sandbox from the inside, started by the first way that works, as the bridge does; that way is remembered. */
export async function viewSandbox(
  first: ContainerEngine,
  config: Config,
  signal: AbortSignal,
): Promise<Viewing> {
  const spec = probeSpec(config, VIEW_COMMAND);
  const run = await runProbe(first, spec, signal);
  const view = parseView(run.stdout);
  if (view !== undefined) return { engine: first, view };
  if (!NOT_STARTED.includes(run.code)) return { failure: run };
  for (const engine of await first.alternatives(signal)) {
    const view = parseView((await runProbe(engine, spec, signal)).stdout);
    if (view === undefined) continue;
    await engine.prefer();
    return { engine, view };
  }
  return { failure: run };
}
