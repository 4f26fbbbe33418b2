import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { readOwnLimits } from "../core/own-limits.ts";
import type { PrivateFolder } from "../core/private-folder.ts";
import { CliEngine, type CliEngineOptions } from "./cli-engine.ts";
import { detectDocker } from "./detect-docker.ts";
import { detectPodman } from "./detect-podman.ts";
import type { Candidate, Choices, DetectContext, Detection, Refusal } from "./detection.ts";
import type { ContainerEngine, EngineInfo } from "./engine.ts";
import { findInstallCommand } from "./install-hint.ts";
import { findProgram } from "./machine.ts";
import { describeOwner } from "./owner.ts";
import { openPrivateCache, writePrivately } from "./private-cache.ts";
import { installSeccompProfile } from "./seccomp.ts";
import type { Interpreter } from "./seccomp-profile.ts";

const ANSWER_TIMEOUT_MS = 10_000;

/** What {@link detectEngine} needs to know. */
export interface DetectOptions {
  readonly engine: "auto" | "podman" | "docker";
  /** Passed as `--runtime`; with it no other is tried. */
  readonly ociRuntime: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
  /** How long an engine command that answers at once may take; 10 s by default. */
  readonly answerTimeoutMs?: number;
}

type EngineName = EngineInfo["engine"];

/**
 * Finds a container engine that answers: podman, then docker, or the one that was asked for. It starts no container,
 * so an engine can still fail at the first start: see {@link ContainerEngine.alternatives}. Rejects with
 * `ENGINE_NOT_FOUND` listing what was tried, or with `ENGINE_TIMEOUT` when the only one that was tried hangs.
 */
export async function detectEngine(options: DetectOptions, signal: AbortSignal): Promise<ContainerEngine> {
  return (await createFinder(options)).findFirst(signal);
}

/** What was found of one engine that was asked for. */
export interface EngineSurvey {
  readonly name: EngineName;
  /** Absolute path of its client; `undefined` when there is none. */
  readonly executable: string | undefined;
  /** The ways to run it, best first; none when it is of no use. */
  readonly engines: readonly ContainerEngine[];
  /** Why it is of no use. */
  readonly refusal: Refusal | undefined;
}

/** Looks at every engine that {@link detectEngine} would try, in its order, also after one that answers. */
export async function surveyEngines(
  options: DetectOptions,
  signal: AbortSignal,
): Promise<readonly EngineSurvey[]> {
  return (await createFinder(options)).surveyAll(signal);
}

async function createFinder(options: DetectOptions): Promise<EngineFinder> {
  const cache = await openPrivateCache(options.env);
  const hardLimits = readOwnLimits("hard");
  const owner = describeOwner();
  const { env, log, answerTimeoutMs: timeoutMs = ANSWER_TIMEOUT_MS } = options;
  // At each start: a bridge runs for days, and what lies in a cache may be cleaned away meanwhile.
  const installProfile = (interpreter: Interpreter) =>
    writePrivately(env, (folder) => installSeccompProfile(folder, interpreter));
  const shared = { env, log, timeoutMs, owner, hardLimits, installProfile };
  return new EngineFinder(options, shared, cache);
}

/** What the engines of one detection have in common. */
type Shared = Omit<CliEngineOptions, "info" | "executable" | "findAlternatives" | keyof Ways>;
type Ways = Pick<Candidate, "handingDown" | "remember">;

class EngineFinder {
  readonly #names: readonly EngineName[];
  readonly #ociRuntime: string | undefined;
  readonly #shared: Shared;
  readonly #cache: PrivateFolder;
  readonly #refusals = new Map<EngineName, Refusal>();

  constructor({ engine, ociRuntime }: DetectOptions, shared: Shared, cache: PrivateFolder) {
    this.#names = engine === "auto" ? ["podman", "docker"] : [engine];
    this.#ociRuntime = ociRuntime;
    this.#shared = shared;
    this.#cache = cache;
  }

  async findFirst(signal: AbortSignal): Promise<ContainerEngine> {
    for (const name of this.#names) {
      const [engine] = await this.#find(name, signal);
      if (engine !== undefined) return engine;
    }
    throw await describeFailure(this.#refusals);
  }

  surveyAll(signal: AbortSignal): Promise<readonly EngineSurvey[]> {
    return Promise.all(
      this.#names.map(async (name) => ({
        name,
        executable: await findProgram(name, this.#shared.env),
        engines: await this.#find(name, signal),
        refusal: this.#refusals.get(name),
      })),
    );
  }

  /** The ways to run this engine, best first; none when it is of no use. */
  async #find(name: EngineName, signal: AbortSignal): Promise<readonly ContainerEngine[]> {
    const { env, log, timeoutMs } = this.#shared;
    const executable = await findProgram(name, env);
    if (executable === undefined) {
      this.#refusals.set(name, { reason: "not on the PATH" });
      return [];
    }
    const cache = this.#cache;
    const context = { executable, env, ociRuntime: this.#ociRuntime, cache, log, timeoutMs, signal };
    const detection = await tryDetect(name, context);
    if ("candidates" in detection) return this.#build(name, executable, detection);
    this.#refusals.set(name, detection);
    return [];
  }

  #build(
    engine: EngineName,
    executable: string,
    { candidates, forget }: Choices,
  ): readonly ContainerEngine[] {
    const engines: readonly ContainerEngine[] = candidates.map(({ facts, ociRuntime, ...ways }) => {
      const findAlternatives = async (signal: AbortSignal) => {
        await forget();
        const others = engines.filter(({ info }) => info.ociRuntime !== ociRuntime);
        return [...others, ...(await this.#findAfter(engine, signal))];
      };
      const info = { engine, ...facts, ociRuntime };
      return new CliEngine({ ...this.#shared, ...ways, executable, info, findAlternatives });
    });
    return engines;
  }

  async #findAfter(engine: EngineName, signal: AbortSignal): Promise<readonly ContainerEngine[]> {
    const later = this.#names.slice(this.#names.indexOf(engine) + 1);
    return (await Promise.all(later.map((name) => this.#find(name, signal)))).flat();
  }
}

async function tryDetect(name: EngineName, context: DetectContext): Promise<Detection> {
  try {
    return await (name === "podman" ? detectPodman(context) : detectDocker(context));
  } catch (error) {
    if (error instanceof BridgeError && error.code !== "CANCELLED") return { reason: error.message, error };
    throw error;
  }
}

async function describeFailure(refusals: ReadonlyMap<EngineName, Refusal>): Promise<BridgeError> {
  const [first, ...more] = refusals.values();
  if (first?.error?.code === "ENGINE_TIMEOUT" && more.length === 0) return first.error;
  const tried = [...refusals].map(([name, { reason }]) => `  ${name}: ${reason}`);
  const message = ["no container engine that works was found", ...tried].join("\n");
  const command = await findInstallCommand();
  const onlyDocker = !refusals.has("podman");
  const install = onlyDocker
    ? "Install docker, set MCP_BRIDGE_RUNTIME to podman or auto"
    : command === undefined
      ? "Install podman or docker"
      : `Install podman with "${command}"`;
  return new BridgeError("ENGINE_NOT_FOUND", message, {
    hint: `${install}, or start the engine that is there.`,
    data: Object.fromEntries([...refusals].map(([name, { reason }]) => [name, reason])),
  });
}
