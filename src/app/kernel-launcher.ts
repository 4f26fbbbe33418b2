import type { Config } from "../config/config.ts";
import { DEFAULT_USER } from "../config/load.ts";
import type { ContainerEngine, SandboxSpec } from "../container/engine.ts";
import { ImagePuller } from "../container/image-pull.ts";
import { mountUser } from "../container/mounts.ts";
import { knownHoles } from "../container/oci-runtime.ts";
import { PROJECTS } from "../container/run-args.ts";
import { BridgeError } from "../core/errors.ts";
import { untilAborted } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { readOwnLimits, scarcityOf } from "../core/own-limits.ts";
import { HEIR_COMMAND, SANDBOX_COMMAND } from "../kernel/command.ts";
import type { KernelEvents } from "../kernel/kernel.ts";
import type { SandboxSettings } from "../kernel/protocol.ts";
import type { KernelSource, StartedKernel } from "../session/kernel-source.ts";

/** A container and its Python are up within a second; a machine that swaps may need more. */
const HELLO_DEADLINE_MS = 30_000;
/** Each engine that may be there is given its own, shorter time; this one is for all of them. */
const FIND_DEADLINE_MS = 60_000;
const SWEEP_DEADLINE_MS = 60_000;
const DESCRIBE_DEADLINE_MS = 60_000;
/** `docker run` and `podman run`: the engine failed, the program cannot be run, the program was not found. */
const ENGINE_EXIT_CODES: readonly unknown[] = [125, 126, 127];

export interface KernelLauncherOptions {
  readonly config: Config;
  readonly log: Log;
  /** Looks for an engine; called at the first start, and again after it failed. */
  readonly findEngine: (signal: AbortSignal) => Promise<ContainerEngine>;
  /** Whether all output of the sandboxes is wanted, and not only what a result keeps of it. */
  readonly wholeOutput: boolean;
  /** Whether programs get a standard input. */
  readonly hasStdin: boolean;
  /** Whether the log is to name an OCI runtime that has let containers out; asking for it costs more than a start. */
  readonly warnsOfHoles: boolean;
  /** How long a start waits for an image that is being pulled. */
  readonly pullWaitMs: number;
  /** Called when the engine's client runs, which takes the longest part of a start. */
  readonly onLaunch?: (() => void) | undefined;
  /** Ends what goes on in the background: pulls, the search for an engine and for orphans. */
  readonly signal: AbortSignal;
}

/** Whether sandboxes could be started now. */
export interface LauncherProbe {
  readonly engine: "podman" | "docker";
  readonly hasImage: boolean;
}

/** Starts sandboxes: finds the engine once, fetches a missing image, and gets round an OCI runtime that does not work. */
export class KernelLauncher implements KernelSource {
  readonly #options: KernelLauncherOptions;
  readonly #puller: ImagePuller;
  #engine: ContainerEngine | undefined;
  #finding: Promise<ContainerEngine> | undefined;

  constructor(options: KernelLauncherOptions) {
    this.#options = options;
    this.#puller = new ImagePuller({ log: options.log, waitMs: options.pullWaitMs, signal: options.signal });
  }

  async start(events: KernelEvents, signal: AbortSignal): Promise<StartedKernel> {
    try {
      return await this.#start(events, signal);
    } catch (error) {
      throw withScarcity(error);
    }
  }

  async #start(events: KernelEvents, signal: AbortSignal): Promise<StartedKernel> {
    const engine = this.#engine ?? (await this.#findEngine(signal));
    try {
      return await this.#startWith(engine, events, signal);
    } catch (error) {
      if (!isEngineFailure(error)) throw error;
      const { image } = this.#options.config;
      if (!(await engine.hasImage(image, signal))) {
        await this.#puller.ensure(engine, image, signal);
        return await this.#startWith(engine, events, signal);
      }
      return await this.#startWithAnotherRuntime(engine, events, signal, error);
    }
  }

  /** Asks the engine whether it has the image. Rejects where there is none, or it does not answer. */
  async probe(signal: AbortSignal): Promise<LauncherProbe> {
    const engine = this.#engine ?? (await this.#findEngine(signal));
    const hasImage = await engine.hasImage(this.#options.config.image, signal);
    return { engine: engine.info.engine, hasImage };
  }

  /** Starts at the same time share one search; who stops waiting does not stop it for the others. */
  async #findEngine(signal: AbortSignal): Promise<ContainerEngine> {
    this.#finding ??= this.#options.findEngine(this.#background(FIND_DEADLINE_MS)).finally(() => {
      this.#finding = undefined;
    });
    const engine = await untilAborted(this.#finding, signal);
    if (engine === undefined)
      throw new BridgeError("CANCELLED", "the call was cancelled while the engine was looked for");
    return engine;
  }

  async #startWithAnotherRuntime(
    engine: ContainerEngine,
    events: KernelEvents,
    signal: AbortSignal,
    firstFailure: BridgeError,
  ): Promise<StartedKernel> {
    for (const alternative of await engine.alternatives(signal)) {
      try {
        const started = await this.#startWith(alternative, events, signal);
        await alternative.prefer();
        this.#options.log.warning("the engine's OCI runtime does not start containers; another one is used", {
          engine: engine.info.engine,
          broken: engine.info.ociRuntime ?? "default",
          used: alternative.info.ociRuntime,
          reason: String(firstFailure.data?.["stderr"] ?? ""),
        });
        return started;
      } catch (error) {
        if (!isEngineFailure(error)) throw error;
      }
    }
    throw this.#explain(engine, firstFailure);
  }

  async #startWith(
    engine: ContainerEngine,
    events: KernelEvents,
    signal: AbortSignal,
    mayInherit = true,
  ): Promise<StartedKernel> {
    const { config, log } = this.#options;
    const sandbox = await engine.start(this.#spec(engine, mayInherit), signal);
    this.#options.onLaunch?.();
    // What speaks with Python is loaded while the engine makes the container.
    const [{ startKernel }, { MAX_FRAME_BYTES, PROTOCOL }] = await Promise.all([
      import("../kernel/kernel.ts"),
      import("../kernel/protocol.ts"),
    ]);
    const settings: SandboxSettings = {
      protocol: PROTOCOL,
      max_frame_bytes: MAX_FRAME_BYTES,
      output_bytes: config.maxOutputChars,
      whole_output: this.#options.wholeOutput,
      stdin: this.#options.hasStdin,
      projects: PROJECTS,
      rlimits: engine.info.enforcesLimits
        ? null
        : { memory_bytes: config.memoryBytes, processes: config.pids },
    };
    const options = { sandbox, settings, events, log, helloDeadlineMs: HELLO_DEADLINE_MS, signal };
    const kernel = await startKernel(options).catch(async (error: unknown) => {
      if (sandbox.handedDown !== undefined && (await this.#mayBeginOtherwise(engine, error, signal)))
        return undefined;
      throw error;
    });
    if (kernel === undefined) {
      const started = await this.#startWith(engine, events, signal, false);
      // Only now is it known that it was for the pipes, or for a moment.
      const isOver = await sandbox.handedDown?.failed();
      if (isOver === true) log.warning(NO_OWN_PIPES);
      else log.info("a sandbox did not begin with the bridge's own pipes, and did without");
      return started;
    }
    await sandbox.handedDown?.worked();
    if (this.#engine === undefined) void this.#lookAround(engine);
    this.#engine = engine;
    log.debug("started a sandbox", { name: sandbox.name, python: kernel.python });
    return { kernel, notes: engine.info.enforcesLimits ? [] : [WEAK_LIMITS_NOTE] };
  }

  /**
   * Whether a sandbox that ended before it had greeted is to be tried with the engine's client in between: some other OCI
   * runtime may not hand descriptors down, and of a Python that fails only a client that stays tells the words.
   */
  async #mayBeginOtherwise(engine: ContainerEngine, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || !hasEnded(error)) return false;
    return !isEngineFailure(error) || (await engine.hasImage(this.#options.config.image, signal));
  }

  /** Once, when an engine was found. One after the other: none of it is in a hurry, and code runs meanwhile. */
  async #lookAround(engine: ContainerEngine): Promise<void> {
    await this.#sweep(engine);
    if (this.#options.warnsOfHoles) await this.#warnOfHoles(engine);
  }

  async #warnOfHoles(engine: ContainerEngine): Promise<void> {
    const { log } = this.#options;
    try {
      const runtime = await engine.describeRuntime(this.#background(DESCRIBE_DEADLINE_MS));
      const holes = runtime === undefined ? undefined : knownHoles(runtime);
      if (holes === undefined) return;
      log.warning(
        "code got out of containers of this OCI runtime, unless your distribution has mended it; sandpy doctor says what to do",
        { runtime: `${runtime?.name} ${runtime?.version}`, holes },
      );
    } catch (error) {
      log.debug("could not ask for the OCI runtime", { error: String(error) });
    }
  }

  /** Removes what bridges that were killed left behind. */
  async #sweep(engine: ContainerEngine): Promise<void> {
    const { log } = this.#options;
    try {
      const removed = await engine.removeOrphans(this.#background(SWEEP_DEADLINE_MS));
      if (removed.length > 0)
        log.info("removed containers of bridges that are gone", { names: removed.join(",") });
    } catch (error) {
      if (this.#options.signal.aborted) return;
      log.warning("could not look for containers of bridges that are gone", { error: String(error) });
    }
  }

  #background(deadlineMs: number): AbortSignal {
    return AbortSignal.any([this.#options.signal, AbortSignal.timeout(deadlineMs)]);
  }

  #spec({ info }: ContainerEngine, mayInherit: boolean): SandboxSpec {
    const { image, containerUser, memoryBytes, pids, cpus, projectsQuotaBytes, mounts } =
      this.#options.config;
    return {
      image,
      limits: { memoryBytes, pids, cpus, projectsBytes: projectsQuotaBytes },
      command: SANDBOX_COMMAND,
      ...(mayInherit ? { heirCommand: HEIR_COMMAND } : {}),
      ...(mounts === undefined
        ? { user: containerUser }
        : { mounts, user: mountUser(containerUser, containerUser === DEFAULT_USER, info) }),
    };
  }

  #explainHint({ info }: ContainerEngine): string {
    const { image, ociRuntime } = this.#options.config;
    if (ociRuntime !== undefined) {
      const run = info.engine === "podman" ? `--runtime ${ociRuntime} run` : `run --runtime ${ociRuntime}`;
      return `MCP_BRIDGE_OCI_RUNTIME is "${ociRuntime}": unset it, or try: ${info.engine} ${run} --rm ${image} true`;
    }
    return `The image "${image}" needs python3 (3.9 or newer) on its PATH; try: ${info.engine} run --rm --entrypoint python3 ${image} --version`;
  }

  #explain(engine: ContainerEngine, failure: BridgeError): BridgeError {
    const stderr = String(failure.data?.["stderr"] ?? "");
    return new BridgeError(
      "ENGINE_FAILED",
      `${engine.info.engine} could not start the sandbox (exit code ${failure.data?.["exitCode"]}): ${stderr}`,
      {
        hint: this.#explainHint(engine),
        cause: failure,
      },
    );
  }
}

const NO_OWN_PIPES =
  "sandboxes do not begin with the bridge's own pipes; the engine's client stays from now on";

const WEAK_LIMITS_NOTE =
  "This engine does not enforce memory and process limits (rootless on cgroup v1); resource limits inside the sandbox stand in.";

/** The failure of a start; its hint begins with what this process may have too little of: anything can fail then. */
function withScarcity(error: unknown): unknown {
  const scarcity = scarcityOf(readOwnLimits());
  if (scarcity === undefined || !(error instanceof BridgeError) || error.code === "CANCELLED") return error;
  const { code, message, hint = "", data } = error;
  if (hint.includes(scarcity.command)) return error;
  const advice = `sandpy ${scarcity.what}, which may be the reason; where it is started: ${scarcity.command}`;
  return new BridgeError(code, message, {
    hint: hint === "" ? advice : `${advice}\n${hint}`,
    cause: error,
    ...(data === undefined ? {} : { data }),
  });
}

function isEngineFailure(error: unknown): error is BridgeError {
  return hasEnded(error) && ENGINE_EXIT_CODES.includes(error.data?.["exitCode"]);
}

/** Whether the sandbox ended before it greeted, and was not only silent. */
function hasEnded(error: unknown): error is BridgeError {
  return (
    error instanceof BridgeError &&
    error.code === "KERNEL_START_FAILED" &&
    error.data?.["exitCode"] !== undefined
  );
}
