import type { Config } from "../../config/config.ts";
import type { ContainerEngine, SandboxSpec } from "../../container/engine.ts";
import { BoundedText } from "../../core/bounded-text.ts";
import { BridgeError } from "../../core/errors.ts";
import { untilAborted } from "../../core/lifecycle.ts";

/** A container may need seconds on a machine that swaps; its Python needs less than one. */
const PROBE_DEADLINE_MS = 30_000;
const MAX_OUTPUT_CHARS = 256 * 1024;

/** How a program in a container of its own ended. */
export interface ProbeRun {
  readonly stdout: string;
  readonly stderr: string;
  /** As in `SandboxExit`. */
  readonly code: number | null;
}

/** What the bridge starts for its sessions, with another program in it. */
export function probeSpec(
  { image, containerUser, memoryBytes, pids, cpus, projectsQuotaBytes }: Config,
  command: readonly string[],
): SandboxSpec {
  const limits = { memoryBytes, pids, cpus, projectsBytes: projectsQuotaBytes };
  return { image, user: containerUser, limits, command };
}

/**
 * Runs a program in a container to its end. The container is gone when this settles, however it does. Rejects with
 * `ENGINE_TIMEOUT` after 30 s, and with `CANCELLED`.
 */
export async function runProbe(
  engine: ContainerEngine,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<ProbeRun> {
  const deadline = AbortSignal.timeout(PROBE_DEADLINE_MS);
  const both = AbortSignal.any([signal, deadline]);
  await using sandbox = await engine.start(spec, both);
  const stdout = new BoundedText(MAX_OUTPUT_CHARS);
  const collect = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of sandbox.stdout) stdout.append(decoder.decode(chunk, { stream: true }));
    return sandbox.ended;
  };
  const exit = await untilAborted(collect(), both);
  if (exit !== undefined) return { stdout: stdout.toString(), stderr: exit.stderr, code: exit.code };
  if (signal.aborted) throw new BridgeError("CANCELLED", "the probe was cancelled", { cause: signal.reason });
  const { engine: name } = engine.info;
  throw new BridgeError(
    "ENGINE_TIMEOUT",
    `a container that only looks around did not end within ${PROBE_DEADLINE_MS / 1000} s`,
    { hint: `See whether "${name} run --rm ${spec.image} true" ends; if not, restart ${name}.` },
  );
}
