import type { Child } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import type { EngineInfo } from "./engine.ts";
import { type EngineAnswer, lastLine } from "./engine-call.ts";
import type { InstallOptions } from "./image-build/installer.ts";
import { type ImageFacts, parseImageFacts } from "./image-facts.ts";
import { parseJson } from "./parse-json.ts";
import { checkImage } from "./run-args.ts";

const ANSWER_TIMEOUT_MS = 10_000;
const BUILD_TIMEOUT_MS = 60 * 60_000;
const MAX_LISTED = 200;

/** What an {@link ImageStore} needs of its engine. */
export interface ImageStorePorts {
  readonly info: EngineInfo;
  /** Runs a command of the engine's client to its end. */
  readonly run: (
    args: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
    onProgress?: (line: string) => void,
  ) => Promise<EngineAnswer>;
  /** Starts `install.py` in a container of an image, on the engine's network. */
  readonly startInstaller: (install: ContainerInstall, signal: AbortSignal) => Promise<RunningInstaller>;
}

/** What to install in a container of `image`. */
export interface ContainerInstall {
  readonly image: string;
  /** The engine's network; `undefined` for its own choice. Not used with wheels. */
  readonly network: string | undefined;
  readonly options: InstallOptions;
  readonly onLine: (line: string) => void;
}

/** An installer at work; closing it removes its container. */
export interface RunningInstaller extends AsyncDisposable {
  readonly child: Child;
}

/** What to build from a folder. */
export interface BuildOrder {
  readonly tag: string;
  /** Everything in it can be copied into the image. */
  readonly folder: string;
  /** Path of the Containerfile. */
  readonly file: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The network of its commands; `undefined` for the engine's own choice. */
  readonly network: string | undefined;
  /** Whether the engine keeps what each line of the file made, for the next build of it. */
  readonly keepsLayers: boolean;
  readonly onLine: (line: string) => void;
}

/** The images of one engine. */
export class ImageStore {
  readonly #ports: ImageStorePorts;

  constructor(ports: ImageStorePorts) {
    this.#ports = ports;
  }

  /** What is known of an image; `undefined` when it is not here. Throws `CONFIG_INVALID` on what is no image's name. */
  async describe(image: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    checkImage(image);
    const answer = await this.#run(["image", "inspect", image], signal);
    if (answer.code === 0) {
      const [facts] = parseAll(answer.stdout);
      if (facts !== undefined) return facts;
      throw this.#failed("image inspect", answer);
    }
    // The exit code is the same for a missing image and for an engine that does not work: the engine is asked for itself.
    const alive = await this.#run(["image", "ls", "--quiet"], signal);
    if (alive.code === 0) return undefined;
    throw this.#failed("image ls", alive);
  }

  /** The images that have a label, newest first. */
  async listLabelled(label: string, signal: AbortSignal): Promise<readonly ImageFacts[]> {
    const args = ["image", "ls", "--quiet", "--no-trunc", "--filter", `label=${label}`];
    const answer = await this.#run(args, signal);
    if (answer.code !== 0) throw this.#failed("image ls", answer);
    const ids = [
      ...new Set(answer.stdout.split("\n").filter((line) => /^(sha256:)?[0-9a-f]{64}$/.test(line))),
    ];
    if (ids.length === 0) return [];
    // One that is removed meanwhile makes the exit code 1; the others are there all the same.
    const images = await this.#run(["image", "inspect", ...ids.slice(0, MAX_LISTED)], signal);
    return parseAll(images.stdout);
  }

  /**
   * Builds an image, and removes the one that had its name if nothing else needs it. Rejects with `IMAGE_BUILD_FAILED`
   * and the engine's words. The same folder gives the same image where the engine can leave out the time.
   */
  async build(order: BuildOrder, signal: AbortSignal): Promise<ImageFacts> {
    const { engine, ociRuntime } = this.#ports.info;
    const { tag, folder, file, labels, network, keepsLayers, onLine } = order;
    const before = await this.describe(tag, signal);
    const args = [
      ...(engine === "podman" && ociRuntime !== undefined ? ["--runtime", ociRuntime] : []),
      ...["build", "--file", file, "--tag", tag],
      ...(engine === "podman" ? ["--timestamp", "0", `--layers=${keepsLayers}`] : []),
      ...(network === undefined ? [] : ["--network", network]),
      ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
      folder,
    ];
    const answer = await this.#ports.run(args, BUILD_TIMEOUT_MS, signal, onLine);
    const after = answer.code === 0 ? await this.describe(tag, signal) : undefined;
    if (after === undefined) {
      const reason = lastLine(answer.stderr) || lastLine(answer.stdout);
      throw new BridgeError("IMAGE_BUILD_FAILED", `${engine} could not build "${tag}": ${reason}`, {
        hint: `Run it with MCP_BRIDGE_LOG_LEVEL=DEBUG to see all that ${engine} says.`,
        data: { engine, exitCode: answer.code },
      });
    }
    if (before !== undefined && before.id !== after.id) await this.#removeNameless(before.id, signal);
    return after;
  }

  startInstaller(install: ContainerInstall, signal: AbortSignal): Promise<RunningInstaller> {
    return this.#ports.startInstaller(install, signal);
  }

  /** One that is in use stays, and so does one that still has a name. */
  async #removeNameless(id: string, signal: AbortSignal): Promise<void> {
    const facts = await this.describe(id, signal);
    if (facts?.tags.length === 0) await this.#run(["image", "rm", id], signal);
  }

  #run(args: readonly string[], signal: AbortSignal): Promise<EngineAnswer> {
    return this.#ports.run(args, ANSWER_TIMEOUT_MS, signal);
  }

  #failed(command: string, { code, stderr }: EngineAnswer): BridgeError {
    const { engine } = this.#ports.info;
    return new BridgeError("ENGINE_FAILED", `"${engine} ${command}" failed (${code}): ${lastLine(stderr)}`, {
      hint: `Run "${engine} info" to see whether the engine works.`,
    });
  }
}

function parseAll(text: string): ImageFacts[] {
  const answer = parseJson(text);
  return (Array.isArray(answer) ? answer : []).map(parseImageFacts).filter((facts) => facts !== undefined);
}
