import type { Config } from "../../config/config.ts";
import { PYTHON_LABEL, RECIPE_LABEL } from "../../container/image-build/recipe.ts";
import type { ImageFacts } from "../../container/image-facts.ts";
import type { Log } from "../../core/log.ts";
import { viewSandbox } from "../probe/view-sandbox.ts";
import { findEngine } from "./find-engine.ts";

/** An image that sandboxes can run, or the one that they are to run. */
export interface ListedImage {
  readonly name: string;
  readonly isConfigured: boolean;
  /** `undefined`: it is not here. */
  readonly facts: ImageFacts | undefined;
  /** `undefined`: not known, or there is none in it. */
  readonly python: string | undefined;
  /** How it was built; `undefined` for one of others. */
  readonly recipe: string | undefined;
}

/** The images that we built, and the one of the settings, which comes first. */
export async function listImages(
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<{ readonly engine: string; readonly images: readonly ListedImage[] }> {
  const engine = await findEngine(config, log, signal);
  const [configured, own] = await Promise.all([
    engine.images.describe(config.image, signal),
    engine.images.listLabelled(RECIPE_LABEL, signal),
  ]);
  const others = own
    .filter(({ id }) => id !== configured?.id)
    .map((facts) => listed(facts.tags[0] ?? facts.id, facts, false));
  const first = configured === undefined ? missing(config.image) : listed(config.image, configured, true);
  if (first.facts === undefined || first.python !== undefined) {
    return { engine: engine.info.engine, images: [first, ...others] };
  }
  // It says nowhere which Python it has, so it is asked.
  const viewing = await viewSandbox(engine, config, signal);
  const python = "view" in viewing ? viewing.view.python : undefined;
  return { engine: engine.info.engine, images: [{ ...first, python }, ...others] };
}

function listed(name: string, facts: ImageFacts, isConfigured: boolean): ListedImage {
  const official = facts.environment.find((each) => each.startsWith("PYTHON_VERSION="))?.split("=")[1];
  return {
    name,
    isConfigured,
    facts,
    python: facts.labels[PYTHON_LABEL] ?? official,
    recipe: facts.labels[RECIPE_LABEL],
  };
}

function missing(name: string): ListedImage {
  return { name, isConfigured: true, facts: undefined, python: undefined, recipe: undefined };
}
