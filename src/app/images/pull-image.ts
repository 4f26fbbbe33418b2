import type { Config } from "../../config/config.ts";
import type { ImageFacts } from "../../container/image-facts.ts";
import { BridgeError } from "../../core/errors.ts";
import type { BuildContext } from "./build-image.ts";
import { findEngine } from "./find-engine.ts";

/** Pulls an image, also where an older one of the name is here. Rejects with `IMAGE_MISSING` and the engine's words. */
export async function pullImage(
  config: Config,
  image: string,
  { log, signal, onLine }: BuildContext,
): Promise<{ readonly engine: string; readonly facts: ImageFacts }> {
  const engine = await findEngine(config, log, signal);
  await engine.pull(image, onLine, signal);
  const facts = await engine.images.describe(image, signal);
  if (facts !== undefined) return { engine: engine.info.engine, facts };
  throw new BridgeError("IMAGE_MISSING", `${JSON.stringify(image)} was pulled, and is not here`);
}
