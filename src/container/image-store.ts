import { BridgeError } from "../core/errors.ts";
import type { EngineInfo } from "./engine.ts";
import { type EngineAnswer, lastLine } from "./engine-call.ts";
import { type ImageFacts, parseImageFacts } from "./image-facts.ts";
import { parseJson } from "./parse-json.ts";
import { checkImage } from "./run-args.ts";
import type { RunCommand } from "./sandbox.ts";

const ANSWER_TIMEOUT_MS = 10_000;

/** The images of one engine. */
export class ImageStore {
  readonly #info: EngineInfo;
  readonly #run: RunCommand;

  constructor(info: EngineInfo, run: RunCommand) {
    this.#info = info;
    this.#run = run;
  }

  /** What is known of an image; `undefined` when it is not here. Throws `CONFIG_INVALID` on what is no image's name. */
  async describe(image: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    checkImage(image);
    const answer = await this.#run(["image", "inspect", image], ANSWER_TIMEOUT_MS, signal);
    if (answer.code === 0) {
      const [first] = asArray(parseJson(answer.stdout));
      const facts = parseImageFacts(first);
      if (facts !== undefined) return facts;
      throw this.#failed("image inspect", answer);
    }
    // The exit code is the same for a missing image and for an engine that does not work: the engine is asked for itself.
    const alive = await this.#run(["image", "ls", "--quiet"], ANSWER_TIMEOUT_MS, signal);
    if (alive.code === 0) return undefined;
    throw this.#failed("image ls", alive);
  }

  #failed(command: string, { code, stderr }: EngineAnswer): BridgeError {
    const { engine } = this.#info;
    return new BridgeError("ENGINE_FAILED", `"${engine} ${command}" failed (${code}): ${lastLine(stderr)}`, {
      hint: `Run "${engine} info" to see whether the engine works.`,
    });
  }
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
