import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { CliEngine } from "./cli-engine.ts";
import { detectDocker } from "./detect-docker.ts";
import { detectPodman } from "./detect-podman.ts";
import type { ContainerEngine, EngineInfo } from "./engine.ts";
import type { EngineFacts } from "./facts.ts";
import { findInstallCommand } from "./install-hint.ts";
import { findProgram } from "./machine.ts";
import { describeOwner, readHardLimits } from "./owner.ts";
import { openPrivateCache, type PrivateCache } from "./private-cache.ts";
import { installSeccompProfile } from "./seccomp.ts";

/** What {@link detectEngine} needs to know. */
export interface DetectOptions {
  readonly engine: "auto" | "podman" | "docker";
  /** Passed as `--runtime`; with it there are no alternatives. */
  readonly ociRuntime: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** Why an engine is of no use, in one line. */
export interface Refusal {
  readonly reason: string;
  /** The error behind it, when it says more than the reason. */
  readonly error?: BridgeError;
}

/** One way to run an engine: its facts, with the OCI runtime chosen. */
export interface Candidate {
  readonly facts: EngineFacts;
  readonly ociRuntime: string | undefined;
  readonly remember: () => Promise<void>;
}

/** What asking an engine gave: the ways to run it, best first, or why there is none. */
export type Detection =
  | Refusal
  | { readonly candidates: readonly Candidate[]; readonly forget: () => Promise<void> };

/** What the detection of each engine gets. */
export interface DetectContext {
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ociRuntime: string | undefined;
  readonly cache: PrivateCache;
  readonly log: Log;
  readonly signal: AbortSignal;
}

type EngineName = EngineInfo["engine"];
type Build = (engine: EngineName, executable: string, detection: Detection) => readonly ContainerEngine[];

const DETECTORS = { podman: detectPodman, docker: detectDocker };

/**
 * Finds a container engine that answers: podman, then docker, or the one that was asked for. It starts no container,
 * so an engine can still fail at the first start: see {@link ContainerEngine.alternatives}. Rejects with
 * `ENGINE_NOT_FOUND` listing what was tried, or with `ENGINE_TIMEOUT` when the only engine there hangs.
 */
export async function detectEngine(options: DetectOptions, signal: AbortSignal): Promise<ContainerEngine> {
  const cache = await openPrivateCache(options.env);
  const [seccompProfile, owner, hardLimits] = await Promise.all([
    installSeccompProfile(cache),
    describeOwner(),
    readHardLimits(),
  ]);
  const { env, log, ociRuntime } = options;
  const refusals = new Map<EngineName, Refusal>();
  const names: readonly EngineName[] = options.engine === "auto" ? ["podman", "docker"] : [options.engine];

  const detect = async (name: EngineName, asked: AbortSignal): Promise<readonly ContainerEngine[]> => {
    const executable = await findProgram(name, env);
    const detection: Detection =
      executable === undefined
        ? { reason: "not on the PATH" }
        : await DETECTORS[name]({ executable, env, ociRuntime, cache, log, signal: asked });
    if ("reason" in detection) {
      refusals.set(name, detection);
      return [];
    }
    return build(name, executable ?? name, detection);
  };

  const build: Build = (engine, executable, detection) => {
    if ("reason" in detection) return [];
    const engines: ContainerEngine[] = detection.candidates.map(
      (candidate) =>
        new CliEngine({
          info: { engine, ...candidate.facts, ociRuntime: candidate.ociRuntime },
          executable,
          env,
          owner,
          hardLimits,
          seccompProfile,
          log,
          remember: candidate.remember,
          findAlternatives: async (asked) => {
            await detection.forget();
            const rest = names.slice(names.indexOf(engine) + 1);
            const others = await Promise.all(rest.map((name) => detect(name, asked)));
            return [
              ...engines.filter((other) => other.info.ociRuntime !== candidate.ociRuntime),
              ...others.flat(),
            ];
          },
        }),
    );
    return engines;
  };

  for (const name of names) {
    const [engine] = await detect(name, signal);
    if (engine !== undefined) return engine;
  }
  throw await describeFailure(refusals);
}

async function describeFailure(refusals: ReadonlyMap<EngineName, Refusal>): Promise<BridgeError> {
  const errors = [...refusals.values()].flatMap(({ error }) => error ?? []);
  const only = errors.length === 1 && refusals.size === 1 ? errors[0] : undefined;
  if (only?.code === "ENGINE_TIMEOUT") return only;
  const tried = [...refusals].map(([name, { reason }]) => `  ${name}: ${reason}`);
  const command = await findInstallCommand();
  const install = command === undefined ? "Install podman or docker" : `Install podman with "${command}"`;
  return new BridgeError(
    "ENGINE_NOT_FOUND",
    ["no container engine that works was found", ...tried].join("\n"),
    {
      hint: `${install}, or start the engine that is there. "sandpy doctor" shows more.`,
      data: Object.fromEntries([...refusals].map(([name, { reason }]) => [name, reason])),
    },
  );
}
