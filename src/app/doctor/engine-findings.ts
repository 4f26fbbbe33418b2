import type { Config } from "../../config/config.ts";
import { type EngineSurvey, surveyEngines } from "../../container/detect.ts";
import { findDockerTroubles } from "../../container/docker-troubles.ts";
import type { ContainerEngine } from "../../container/engine.ts";
import { findInstallCommand } from "../../container/install-hint.ts";
import { knownHoles } from "../../container/oci-runtime.ts";
import { findPodmanTroubles } from "../../container/podman-troubles.ts";
import type { Trouble } from "../../container/trouble.ts";
import { BridgeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Finding } from "./finding.ts";

/** The engine that a bridge would take, and what stands in its way. */
export interface EngineExamination {
  /** `undefined`: there is none, and `findings` say why. */
  readonly engine: ContainerEngine | undefined;
  readonly findings: readonly Finding[];
  /** To be called when it is known whether a container started: what did not matter then is a warning. */
  readonly troubles: (didStart: boolean) => readonly Finding[];
}

/** Looks at all engines that the settings allow. */
export async function examineEngines(
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<EngineExamination> {
  const { engine: wanted, ociRuntime, env } = config;
  const surveys = await surveyEngines({ engine: wanted, ociRuntime, env, log }, signal);
  const troubled = await Promise.all(
    surveys.map(async (survey) => ({ survey, troubles: await findTroubles(survey, config, signal) })),
  );
  const used = troubled.find(({ survey }) => survey.engines.length > 0);
  const [engine] = used?.survey.engines ?? [];
  if (used === undefined || engine === undefined) {
    const findings = await explainAbsence(troubled, config);
    return { engine: undefined, findings, troubles: () => [] };
  }
  const others = surveys.filter(({ name }) => name !== engine.info.engine);
  const { engine: name, version, remote } = engine.info;
  const ok: Finding = {
    check: "engine",
    status: "ok",
    found: `${name} ${version}, ${engine.executable}${remote ? ", on another machine" : ""}`,
    facts: {
      name,
      version,
      path: engine.executable,
      remote,
      chosenBy: wanted === "auto" ? "order" : "MCP_BRIDGE_RUNTIME",
      others: others.map((other) => ({
        name: other.name,
        path: other.executable ?? null,
        answers: other.engines.length > 0,
        reason: other.refusal?.reason ?? null,
      })),
    },
  };
  return {
    engine,
    findings: [ok],
    troubles: (didStart) => used.troubles.map((trouble) => fromTrouble(trouble, didStart)),
  };
}

/** Of the engine that containers were started with. */
export async function describeEngine(engine: ContainerEngine, signal: AbortSignal): Promise<Finding[]> {
  return [describeRoot(engine), await describeRuntime(engine, signal), describeCgroups(engine)];
}

function describeRoot({ info: { engine, rootless } }: ContainerEngine): Finding {
  return {
    check: "rootless",
    status: "ok",
    found: rootless
      ? `yes: whoever broke out of ${engine} would be this user`
      : `no: ${engine}'s containers are made by root, so a hole in it is a hole in the machine`,
    facts: { rootless },
  };
}

async function describeRuntime(engine: ContainerEngine, signal: AbortSignal): Promise<Finding> {
  const check = "oci-runtime";
  const runtime = await engine.describeRuntime(signal);
  if (runtime === undefined) {
    return { check, status: "warning", found: `${engine.info.engine} does not say which one it uses` };
  }
  const { name, version, path } = runtime;
  const facts = {
    name,
    version: version ?? null,
    path: path ?? null,
    chosen: engine.info.ociRuntime ?? null,
  };
  const shown = `${name} ${version ?? "of unknown version"}`;
  const holes = knownHoles(runtime);
  if (holes === undefined) return { check, status: "ok", found: shown, facts };
  const install = await findInstallCommand();
  return {
    check,
    status: "warning",
    found: `${shown}: releases before 1.2.8, 1.3.3 and 1.4.0 let a container out (${holes}), unless your distribution has mended it`,
    remedy: `Install a newer ${name}, or use crun, or gVisor with MCP_BRIDGE_OCI_RUNTIME=runsc.`,
    command: install?.includes("apt-get") ? `sudo apt-get install --only-upgrade ${name}` : undefined,
    facts: { ...facts, holes },
  };
}

function describeCgroups({ info }: ContainerEngine): Finding {
  const { cgroupVersion, enforcesLimits, engine } = info;
  const facts = { version: cgroupVersion ?? null, enforcesLimits };
  if (cgroupVersion === undefined) {
    return { check: "cgroups", status: "warning", found: `${engine} does not say which version`, facts };
  }
  return {
    check: "cgroups",
    status: "ok",
    found: `version ${cgroupVersion}; ${engine} ${enforcesLimits ? "enforces" : "does not enforce"} limits by it`,
    facts,
  };
}

interface Troubled {
  readonly survey: EngineSurvey;
  readonly troubles: readonly Trouble[];
}

async function findTroubles(
  { name, executable, engines }: EngineSurvey,
  { env, platform }: Config,
  signal: AbortSignal,
): Promise<readonly Trouble[]> {
  if (executable === undefined) return [];
  if (name === "docker") {
    return engines.length > 0 ? [] : findDockerTroubles({ executable, env, platform, signal });
  }
  try {
    return await findPodmanTroubles({ executable, env, platform, uid: process.geteuid?.(), signal });
  } catch (error) {
    // It hangs or cannot be started: its refusal says so already.
    if (error instanceof BridgeError && error.code !== "CANCELLED") return [];
    throw error;
  }
}

/** One finding for each engine that is there and of no use, or one that says how to get one. */
async function explainAbsence(troubled: readonly Troubled[], { engine: wanted }: Config): Promise<Finding[]> {
  const present = troubled.filter(({ survey }) => survey.executable !== undefined);
  if (present.length === 0) {
    const podman = await findInstallCommand();
    const isDocker = wanted === "docker";
    const names = troubled.map(({ survey }) => survey.name).join(" nor ");
    return [
      {
        check: "engine",
        status: "problem",
        found: `no container engine: ${troubled.length > 1 ? "neither " : ""}${names} is ${troubled.length > 1 ? "" : "not "}on the PATH`,
        remedy: isDocker
          ? "MCP_BRIDGE_RUNTIME asks for docker: install it, or leave the choice to sandpy."
          : "Install podman, which needs no daemon and no root.",
        command: isDocker ? "unset MCP_BRIDGE_RUNTIME" : podman,
        facts: { tried: troubled.map(({ survey }) => survey.name) },
      },
    ];
  }
  return present.flatMap(({ survey, troubles }) => explainRefusal(survey, troubles));
}

function explainRefusal(
  { name, refusal, executable }: EngineSurvey,
  troubles: readonly Trouble[],
): Finding[] {
  const problems = troubles.map((trouble) => fromTrouble(trouble, false));
  if (problems.some(({ status }) => status === "problem")) return problems;
  const reason = refusal?.reason ?? "it is of no use";
  return [
    {
      check: "engine",
      status: "problem",
      found: `${name} is installed, but does not work: ${reason}`,
      remedy: refusal?.error?.hint ?? `See what it says itself.`,
      command: `${name} info`,
      facts: { name, path: executable ?? null, code: refusal?.error?.code ?? null },
    },
    ...problems,
  ];
}

function fromTrouble({ gravity, found, remedy, command }: Trouble, didStart: boolean): Finding {
  return { check: "engine", status: didStart ? "warning" : gravity, found, remedy, command };
}
