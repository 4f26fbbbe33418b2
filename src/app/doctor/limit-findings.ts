import type { Config } from "../../config/config.ts";
import type { ContainerEngine, EngineInfo } from "../../container/engine.ts";
import { isGvisor } from "../../container/gvisor.ts";
import { type LimitsView, limitsCommand, parseLimits } from "../../kernel/probes.ts";
import { type ProbeRun, probeSpec, runProbe } from "../probe/run-probe.ts";
import type { Finding } from "./finding.ts";

const MIB = 1024 * 1024;
/** Small, so that a machine where nothing is enforced is not filled: the probe takes twice of each. */
const PROBE_MEMORY_BYTES = 96 * MIB;
const PROBE_PIDS = 32;
/** gVisor itself is counted in, and needs so much to start. */
const GVISOR_MEMORY_BYTES = 256 * MIB;

/** Starts a container with small limits and tries to have more. */
export async function tryLimits(
  engine: ContainerEngine,
  config: Config,
  signal: AbortSignal,
): Promise<Finding[]> {
  const isWhole = isGvisor(engine.info.ociRuntime);
  const memoryBytes = Math.min(isWhole ? GVISOR_MEMORY_BYTES : PROBE_MEMORY_BYTES, config.memoryBytes);
  const pids = isWhole ? config.pids : Math.min(PROBE_PIDS, config.pids);
  const run = (bytes: number, processes: number) => {
    const spec = probeSpec({ ...config, memoryBytes, pids }, limitsCommand(bytes, processes));
    return runProbe(engine, spec, signal);
  };
  // There too many processes end the whole sandbox, so that memory could not be tried after them.
  const ofPids = await run(isWhole ? 0 : memoryBytes, pids);
  const ofMemory = isWhole ? await run(memoryBytes, 0) : ofPids;
  return [
    judgeMemory(parseLimits(ofMemory.stdout), ofMemory, memoryBytes, engine.info),
    judgePids(parseLimits(ofPids.stdout), ofPids, pids, engine.info),
  ];
}

/** Judges what came of taking twice of `limit` bytes. */
export function judgeMemory(
  { memory }: LimitsView,
  { code, stderr }: Pick<ProbeRun, "code" | "stderr">,
  limit: number,
  info: EngineInfo,
): Finding {
  const check = "memory-limit";
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
  const facts = { limit, probe: memory ?? null, exitCode: code };
  if (memory === undefined) return untried(check, stderr, facts);
  if (memory === "started") {
    return code === 0
      ? untried(check, stderr, facts)
      : { check, status: "ok", found: `enforced: at ${mib(limit)} the whole container was ended`, facts };
  }
  if (memory.killed || memory.refused) {
    const how = memory.killed ? "was killed" : "got no more";
    return {
      check,
      status: "ok",
      found: `enforced: with ${mib(limit)}, a program ${how} at ${mib(memory.taken)}`,
      facts,
    };
  }
  return unenforced(check, `a program that may have ${mib(limit)} took ${mib(memory.taken)}`, info, facts);
}

/** Judges what came of making twice as many processes as `limit`. */
export function judgePids(
  { pids }: LimitsView,
  { code, stderr }: Pick<ProbeRun, "code" | "stderr">,
  limit: number,
  info: EngineInfo,
): Finding {
  const check = "process-limit";
  const facts = { limit, probe: pids ?? null, exitCode: code };
  if (pids === undefined) return untried(check, "", facts);
  if (pids === "started") {
    return code === 0
      ? untried(check, stderr, facts)
      : { check, status: "ok", found: `enforced: with ${limit} the whole container was ended`, facts };
  }
  if (pids.refused !== null && pids.started < limit) {
    return {
      check,
      status: "ok",
      found: `enforced: with ${limit}, the kernel refused more than ${pids.started + 1}`,
      facts,
    };
  }
  return unenforced(
    check,
    `a program that may have ${limit} processes made ${pids.started + 1}`,
    info,
    facts,
  );
}

function untried(check: Finding["check"], stderr: string, facts: Finding["facts"]): Finding {
  const words = stderr === "" ? "" : `: ${stderr.split("\n").at(-1)?.slice(0, 200)}`;
  return {
    check,
    status: "warning",
    found: `whether it is enforced could not be seen: the probe ended early${words}`,
    remedy: "Run sandpy doctor again when the machine has less to do.",
    facts,
  };
}

/** An engine that says so is a weaker place, and the sandbox has a substitute; one that claims otherwise is broken. */
function unenforced(
  check: Finding["check"],
  seen: string,
  { enforcesLimits, engine, rootless, cgroupVersion }: EngineInfo,
  facts: Finding["facts"],
): Finding {
  if (enforcesLimits) {
    return {
      check,
      status: "problem",
      found: `not enforced, although ${engine} says that it does: ${seen}`,
      remedy: `See what ${engine} says of cgroups, or use the other engine.`,
      command: `${engine} info`,
      facts,
    };
  }
  return {
    check,
    status: "warning",
    found: `not enforced: ${seen}. Resource limits of each process stand in for it in sessions`,
    ...mendLimits(rootless, cgroupVersion),
    facts,
  };
}

function mendLimits(
  rootless: boolean,
  cgroupVersion: EngineInfo["cgroupVersion"],
): Pick<Finding, "remedy" | "command"> {
  if (!rootless) return { remedy: "Switch on the memory and pids controllers of cgroups in the kernel." };
  if (cgroupVersion === 2) {
    return {
      remedy:
        "Rootless engines need systemd's user session for limits; start sandpy from one, or let one linger.",
      command: "loginctl enable-linger",
    };
  }
  return {
    remedy:
      "Rootless engines enforce limits with cgroup version 2 only: boot with systemd.unified_cgroup_hierarchy=1, or use a rootful engine.",
  };
}
