import { BridgeError } from "../core/errors.ts";
import { untilAborted } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import type { ContainerEngine } from "./engine.ts";

/** A pull goes on in the background for at most this long. */
const PULL_DEADLINE_MS = 15 * 60_000;

interface Pull {
  readonly startedAt: number;
  readonly progress: { readonly lastLine: string };
  readonly finished: Promise<void>;
}

export interface ImagePullerOptions {
  readonly log: Log;
  /** How long who needs an image waits before he is told how far the pull is. */
  readonly waitMs: number;
  /** Ends the pulls under way. */
  readonly signal: AbortSignal;
}

/** Fetches missing images in the background; all who need one share its pull. */
export class ImagePuller {
  readonly #pulls = new Map<string, Pull>();
  readonly #options: ImagePullerOptions;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the image is there. Rejects with `IMAGE_MISSING` when it cannot be pulled, or when the pull takes
   * longer than `waitMs`: the message then says how far it is, and the pull goes on.
   */
  async ensure(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<void> {
    const pull = this.#pulls.get(image) ?? this.#start(engine, image);
    const patience = AbortSignal.any([signal, AbortSignal.timeout(this.#options.waitMs)]);
    const isThere = await untilAborted(
      pull.finished.then(() => true),
      patience,
    );
    if (isThere === true) return;
    const { lastLine } = pull.progress;
    const seconds = Math.round((performance.now() - pull.startedAt) / 1000);
    throw new BridgeError(
      "IMAGE_MISSING",
      `the container image "${image}" is being pulled (for ${seconds} s${lastLine === "" ? "" : `, now: ${lastLine}`})`,
      { hint: "Call again in a minute; the pull goes on." },
    );
  }

  #start(engine: ContainerEngine, image: string): Pull {
    const { log, signal } = this.#options;
    log.info("pulling a container image", { image });
    const progress = { lastLine: "" };
    const onProgress = (line: string) => {
      progress.lastLine = line.slice(0, 200);
    };
    const finished = engine
      .pull(image, onProgress, AbortSignal.any([signal, AbortSignal.timeout(PULL_DEADLINE_MS)]))
      .finally(() => this.#pulls.delete(image)); // a failed pull is tried again by the next call
    finished.catch(() => undefined); // each waiting call reports it
    const pull: Pull = { startedAt: performance.now(), progress, finished };
    this.#pulls.set(image, pull);
    return pull;
  }
}

/** What to do where an image could not be pulled: no registry has those of `localhost/`. */
export function hintOnPull(engine: string, image: string): string {
  if (!image.startsWith("localhost/")) {
    return `Run "${engine} pull ${image}" to see more. Without a registry, "sandpy image build --from-host" makes an image; name it in MCP_BRIDGE_IMAGE.`;
  }
  const how = process.platform === "linux" ? "--from-host" : "--with numpy";
  return `An image of that name is built on the machine itself: "sandpy image list" shows which there are, and "sandpy image build ${how}" makes one; name it in MCP_BRIDGE_IMAGE.`;
}
