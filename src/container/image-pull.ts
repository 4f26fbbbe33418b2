import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ContainerEngine } from "./engine.ts";

/** A pull goes on in the background for at most this long. */
const PULL_DEADLINE_MS = 15 * 60_000;
/** A call waits this long for a pull before it says how far it is; clients give up on a call after a minute. */
const CALL_WAIT_MS = 25_000;

interface Pull {
  readonly startedAt: number;
  lastLine: string;
  readonly finished: Promise<void>;
}

/** Fetches missing images in the background; calls that need one share its pull. */
export class ImagePuller {
  readonly #pulls = new Map<string, Pull>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Resolves when the image is there. Rejects with `IMAGE_MISSING` when it cannot be pulled, or when the pull takes
   * longer than a call may wait: the message then says how far it is, and the pull goes on.
   */
  async ensure(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<void> {
    const pull = this.#pulls.get(image) ?? this.#start(engine, image);
    const waited = AbortSignal.any([signal, AbortSignal.timeout(CALL_WAIT_MS)]);
    const stopped = new Promise<"stopped">((resolve) => {
      waited.addEventListener("abort", () => resolve("stopped"), { once: true });
    });
    if ((await Promise.race([pull.finished, stopped])) !== "stopped") return;
    const seconds = Math.round((performance.now() - pull.startedAt) / 1000);
    throw new BridgeError(
      "IMAGE_MISSING",
      `the container image "${image}" is being pulled (for ${seconds} s${pull.lastLine === "" ? "" : `, now: ${pull.lastLine}`})`,
      { hint: "Call again in a minute; the pull goes on." },
    );
  }

  #start(engine: ContainerEngine, image: string): Pull {
    this.#log.info("pulling a container image", { image });
    const pull: Pull = {
      startedAt: performance.now(),
      lastLine: "",
      finished: engine
        .pull(
          image,
          (line) => {
            pull.lastLine = line.slice(0, 200);
          },
          AbortSignal.timeout(PULL_DEADLINE_MS),
        )
        .finally(() => this.#pulls.delete(image)), // a failed pull is tried again by the next call
    };
    pull.finished.catch(() => undefined); // each waiting call reports it
    this.#pulls.set(image, pull);
    return pull;
  }
}
