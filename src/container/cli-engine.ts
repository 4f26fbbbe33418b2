import { dirname } from "node:path";
import type { Child } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { OwnLimits } from "../core/own-limits.ts";
import type { ContainerEngine, EngineInfo, Sandbox, SandboxSpec } from "./engine.ts";
import { callEngine, type EngineAnswer, lastLine, startClient } from "./engine-call.ts";
import { record } from "./facts.ts";
import { isGvisor } from "./gvisor.ts";
import type { HandingDown } from "./handing-down.ts";
import { buildInstallArgs } from "./image-build/install-args.ts";
import { hintOnPull } from "./image-pull.ts";
import { type ContainerInstall, ImageStore, type RunningInstaller } from "./image-store.ts";
import { LeftContainers } from "./left-containers.ts";
import { checkMounts, usesSelinux } from "./mounts.ts";
import { type OciRuntimeFacts, parseDockerRuntime, parsePodmanRuntime } from "./oci-runtime.ts";
import { removeOrphans } from "./orphans.ts";
import { type Owner, renderLabels } from "./owner.ts";
import { parseJson } from "./parse-json.ts";
import { buildRunArgs, checkImage } from "./run-args.ts";
import { ClientSandbox, type RunCommand } from "./sandbox.ts";
import type { Interpreter } from "./seccomp-profile.ts";

const PULL_TIMEOUT_MS = 30 * 60_000;

/** What a {@link CliEngine} needs; made by `detectEngine`. */
export interface CliEngineOptions {
  readonly info: EngineInfo;
  /** Absolute path of the engine's client. */
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly owner: Owner;
  readonly hardLimits: OwnLimits;
  /** Puts the seccomp profile into a private folder and returns its path. */
  readonly installProfile: (interpreter: Interpreter) => Promise<string>;
  readonly log: Log;
  /** How long a command that answers at once may take. */
  readonly timeoutMs: number;
  /** Whether its containers get descriptors of its client. */
  readonly handingDown: HandingDown;
  /** See {@link ContainerEngine.alternatives}. */
  readonly findAlternatives: (signal: AbortSignal) => Promise<readonly ContainerEngine[]>;
  /** See {@link ContainerEngine.prefer}. */
  readonly remember: () => Promise<void>;
}

let containersStarted = 0;

/** Podman or docker behind its command line. Arguments are passed as a list; no shell is involved. */
export class CliEngine implements ContainerEngine {
  readonly info: EngineInfo;
  readonly executable: string;
  readonly images: ImageStore;
  readonly #options: CliEngineOptions;
  readonly #imageVolumes = new Map<string, readonly string[]>();
  #left: LeftContainers | undefined;

  constructor(options: CliEngineOptions) {
    this.info = options.info;
    this.executable = options.executable;
    this.#options = options;
    this.images = new ImageStore({
      info: options.info,
      run: (...command) => this.#call(...command),
      startInstaller: (...install) => this.#startInstaller(...install),
    });
  }

  async describeRuntime(signal: AbortSignal): Promise<OciRuntimeFacts | undefined> {
    const { info, timeoutMs } = this.#options;
    const ask = async (...args: string[]) => parseJson((await this.#call(args, timeoutMs, signal)).stdout);
    if (info.engine === "podman") {
      const chosen = info.ociRuntime === undefined ? [] : ["--runtime", info.ociRuntime];
      return parsePodmanRuntime(await ask(...chosen, "info", "--format", "json"));
    }
    const [version, docker] = await Promise.all([
      ask("version", "--format", "{{json .}}"),
      ask("info", "--format", "{{json .}}"),
    ]);
    const name = info.ociRuntime ?? record(docker)["DefaultRuntime"];
    return typeof name === "string" && name !== "" ? parseDockerRuntime(version, name) : undefined;
  }

  async start(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const { info, executable, env, owner, hardLimits, log } = this.#options;
    await checkMounts(spec, info);
    const seccompProfile = await this.#installProfile();
    const name = nameContainer(owner);
    const handedDown = spec.heirCommand === undefined ? undefined : this.#options.handingDown.begin();
    const isHeir = handedDown !== undefined;
    const args = buildRunArgs({
      engine: info.engine,
      remote: info.remote,
      rootless: info.rootless,
      isLabelled: spec.mounts !== undefined && !info.remote && (await usesSelinux()),
      ociRuntime: info.ociRuntime,
      spec,
      name,
      labels: renderLabels(owner),
      seccompProfile,
      hardLimits,
      imageVolumes: await this.#volumesOf(spec.image, signal),
      isHeir,
    });
    if (signal.aborted) throw startCancelled(signal);
    log.debug("starting a container", { engine: info.engine, runtime: info.ociRuntime, name });
    // Podman's monitor leaves an empty file "oom" in the folder it was started in; the user's folder is not for that.
    const client = await startClient({ executable, args, env, cwd: dirname(seccompProfile), isHeir });
    const sandbox = this.#sandbox({ name, handedDown }, client);
    if (!signal.aborted) return sandbox;
    await sandbox.close();
    throw startCancelled(signal);
  }

  async hasImage(image: string, signal: AbortSignal): Promise<boolean> {
    checkImage(image);
    if (this.info.engine === "docker") return (await this.#inspectImage(image, signal)) !== undefined;
    const answer = await this.#call(["image", "exists", image], this.#options.timeoutMs, signal);
    if (answer.code === 0) return true;
    if (answer.code === 1) return false;
    throw this.#failed("image exists", answer);
  }

  async pull(image: string, onProgress: (line: string) => void, signal: AbortSignal): Promise<void> {
    checkImage(image);
    const { executable, env } = this.#options;
    const { code, stderr } = await callEngine({
      executable,
      args: ["pull", image],
      env,
      timeoutMs: PULL_TIMEOUT_MS,
      signal,
      onProgress,
    });
    if (code === 0) return;
    const { engine } = this.info;
    throw new BridgeError(
      "IMAGE_MISSING",
      `${engine} could not pull the image "${image}": ${lastLine(stderr)}`,
      {
        hint: hintOnPull(engine, image),
        data: { image, engine },
      },
    );
  }

  alternatives(signal: AbortSignal): Promise<readonly ContainerEngine[]> {
    return this.#options.findAlternatives(signal);
  }

  async removeOrphans(signal: AbortSignal): Promise<readonly string[]> {
    const names = await removeOrphans((...command) => this.#call(...command), signal);
    for (const name of names)
      this.#options.log.info("removed a container that a killed bridge left", { name });
    return names;
  }

  prefer(): Promise<void> {
    return this.#options.remember();
  }

  /** Docker only; podman ignores them by a flag. Asked once for each image: the answer costs a few milliseconds. */
  async #volumesOf(image: string, signal: AbortSignal): Promise<readonly string[]> {
    if (this.info.engine === "podman") return [];
    const known = this.#imageVolumes.get(image);
    if (known !== undefined) return known;
    checkImage(image);
    const volumes = await this.#inspectImage(image, signal);
    return volumes ?? []; // a missing image: the start says so
  }

  /** The volumes that the image declares; `undefined` when there is no such image. */
  async #inspectImage(
    image: string,
    signal: AbortSignal,
    isSure = false,
  ): Promise<readonly string[] | undefined> {
    const answer = await this.#call(
      ["image", "inspect", "--format", "{{json .Config.Volumes}}", image],
      this.#options.timeoutMs,
      signal,
    );
    if (answer.code === 0) {
      const volumes = Object.keys(JSON.parse(answer.stdout) ?? {});
      this.#imageVolumes.set(image, volumes);
      return volumes;
    }
    // The exit code is the same for a missing image and for a missing daemon: the daemon is asked for itself.
    const alive = await this.#call(
      ["version", "--format", "{{.Server.Version}}"],
      this.#options.timeoutMs,
      signal,
    );
    // It may have come back only now: what was said before is no word about the image then.
    if (alive.code === 0) return isSure ? undefined : this.#inspectImage(image, signal, true);
    throw this.#failed("image inspect", alive);
  }

  #failed(command: string, { code, stderr }: EngineAnswer): BridgeError {
    const { engine } = this.info;
    return new BridgeError("ENGINE_FAILED", `"${engine} ${command}" failed (${code}): ${lastLine(stderr)}`, {
      hint: `Run "${engine} info" to see whether the engine works.`,
    });
  }

  async #startInstaller(
    { image, network, options, onLine }: ContainerInstall,
    signal: AbortSignal,
  ): Promise<RunningInstaller> {
    const { info, executable, env, owner, hardLimits } = this.#options;
    const seccompProfile = await this.#installProfile();
    const name = nameContainer(owner);
    const labels = renderLabels(owner);
    const plan = { info, image, name, labels, seccompProfile, hardLimits, network, env, options };
    const args = buildInstallArgs(plan);
    if (signal.aborted) throw startCancelled(signal);
    const onStderr = (text: string) => onLine(lastLine(text));
    const child = await startClient({ executable, args, env, cwd: dirname(seccompProfile), onStderr });
    const sandbox = this.#sandbox({ name, handedDown: undefined }, child);
    return { child, [Symbol.asyncDispose]: () => sandbox.close() };
  }

  #sandbox(named: Pick<Sandbox, "name" | "handedDown">, client: Child): ClientSandbox {
    const run: RunCommand = (command, limitMs, budget) =>
      this.#call(command, Math.min(limitMs, this.#options.timeoutMs), budget);
    this.#left ??= new LeftContainers(run);
    const left = this.#left;
    return new ClientSandbox(named, this.info.engine, client, run, () => left.add(named.name));
  }

  #installProfile(): Promise<string> {
    return this.#options.installProfile(isGvisor(this.info.ociRuntime) ? "gvisor" : "kernel");
  }

  #call(
    args: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
    onProgress?: (line: string) => void,
  ): Promise<EngineAnswer> {
    const { executable, env } = this.#options;
    const call = { executable, args, env, timeoutMs, signal };
    return callEngine(onProgress === undefined ? call : { ...call, onProgress });
  }
}

function nameContainer({ instance }: Owner): string {
  containersStarted += 1;
  return `sandpy-${instance}-${containersStarted}`;
}

function startCancelled(signal: AbortSignal): BridgeError {
  return new BridgeError("CANCELLED", "starting the container was cancelled", { cause: signal.reason });
}
