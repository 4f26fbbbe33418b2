import { createHash } from "node:crypto";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import type { ContainerEngine } from "../../container/engine.ts";
import { HostPacker } from "../../container/image-build/host-python.ts";
import { finishInstaller, type InstallOptions } from "../../container/image-build/installer.ts";
import {
  FINGERPRINT_LABEL,
  type Ingredients,
  labelsOf,
  PACKAGES_TAR,
  packagesOf,
  ROOT_TAR,
  renderContainerfile,
  tagOf,
} from "../../container/image-build/recipe.ts";
import {
  checkRequirements,
  checkSystemPackages,
  parseLock,
  renderLock,
} from "../../container/image-build/requirements.ts";
import { listWheels } from "../../container/image-build/wheels.ts";
import type { ImageFacts } from "../../container/image-facts.ts";
import { checkImage } from "../../container/run-args.ts";
import { replaceFile } from "../../core/atomic-file.ts";
import { BridgeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { readBounded } from "../../core/read-bounded.ts";
import type { SandboxView } from "../../kernel/probes.ts";
import { viewSandbox } from "../probe/view-sandbox.ts";
import { findEngine } from "./find-engine.ts";

const MAX_FILE_BYTES = 1 << 20;

/** What an image is to be made of. Paths are absolute. */
export interface ImageRequest {
  readonly kind: Ingredients["kind"];
  /** For `packages`: the image that they are added to. */
  readonly base: string;
  readonly requirements: readonly string[];
  readonly systemPackages: readonly string[];
  /** A folder of wheels, instead of an index. */
  readonly wheels: string | undefined;
  /** Exact versions with their hashes: read where the file exists, else written. */
  readonly lockFile: string | undefined;
  /** For `containerfile`: the file; its folder is what can be copied from. */
  readonly containerfile: string | undefined;
  /** For `from-host`: an interpreter of this machine. */
  readonly python: string | undefined;
  /** The engine's network for pip and for the commands of a build. */
  readonly network: string | undefined;
  /** `undefined`: a name that follows from what is in it. */
  readonly tag: string | undefined;
}

export interface BuildContext {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** What goes on: the last line of whoever is at work. */
  readonly onLine: (line: string) => void;
}

/** An image that is ready to be used. */
export interface ReadyImage {
  readonly name: string;
  readonly facts: ImageFacts;
  readonly python: string;
  /** Such as `numpy 2.1.0`. */
  readonly packages: readonly string[];
  readonly lock: readonly string[];
  readonly engine: string;
  /** It was here already, of the same ingredients. */
  readonly wasThere: boolean;
}

/** A builder at work: its engine, and a folder that goes with it. */
interface Workshop extends BuildContext {
  readonly config: Config;
  readonly request: ImageRequest;
  readonly engine: ContainerEngine;
  readonly folder: string;
}

/**
 * Builds an image for sandboxes and looks whether one starts in it. Rejects with `USAGE` on what is no package's name,
 * `IMAGE_BUILD_FAILED`, `IMAGE_MISSING` for a base that is not here, and what finding an engine rejects with.
 */
export async function buildImage(
  config: Config,
  request: ImageRequest,
  context: BuildContext,
): Promise<ReadyImage> {
  checkRequirements(request.requirements);
  checkSystemPackages(request.systemPackages);
  if (request.tag !== undefined) checkImage(request.tag);
  if (request.wheels !== undefined) await listWheels(request.wheels); // before anything takes long
  const engine = await findEngine(config, context.log, context.signal);
  const folder = await mkdtemp(join(tmpdir(), "sandpy-image-"));
  try {
    const shop: Workshop = { ...context, config, request, engine, folder };
    switch (request.kind) {
      case "from-host":
        return await buildFromHost(shop);
      case "packages":
        return await buildOnBase(shop);
      case "containerfile":
        return await buildContainerfile(shop);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function buildFromHost(shop: Workshop): Promise<ReadyImage> {
  const { request, folder, config, signal } = shop;
  const packer = await HostPacker.create({ folder, wanted: request.python, env: config.env, signal });
  const python = await packer.describe();
  const options = await installOptions(shop, python.packages, request.wheels ?? null);
  const lock =
    options === undefined
      ? []
      : await finishInstaller(
          await packer.startInstaller(python, folder, options, shop.onLine),
          [],
          join(folder, PACKAGES_TAR),
          signal,
        );
  const ingredients: Ingredients = {
    kind: "from-host",
    base: python.fingerprint,
    baseName: undefined,
    python: python.version,
    systemPackages: [],
    lock,
  };
  const there = await findSame(shop, ingredients);
  if (there !== undefined) return finish(shop, ingredients, there, true);
  shop.onLine(`packing ${python.executable}`);
  await packer.pack(join(folder, ROOT_TAR));
  const file = await writeContainerfile(shop, { from: undefined, target: options?.target });
  return order(shop, ingredients, file, folder);
}

async function buildOnBase(shop: Workshop): Promise<ReadyImage> {
  const { request, engine, signal, folder } = shop;
  const base = await engine.images.describe(request.base, signal);
  if (base === undefined) {
    throw new BridgeError("IMAGE_MISSING", `the base image ${JSON.stringify(request.base)} is not here`, {
      hint: `Pull it with "sandpy image pull ${request.base}", or pack this machine's own Python with --from-host.`,
    });
  }
  const { view, engine: works } = await lookInto(shop, request.base);
  const options = await installOptions(shop, view.package_folder, request.wheels === undefined ? null : "-");
  const lock = options === undefined ? [] : await installInContainer({ ...shop, engine: works }, options);
  const ingredients: Ingredients = {
    kind: "packages",
    base: base.digests[0]?.split("@")[1] ?? base.id,
    baseName: request.base,
    python: view.python,
    systemPackages: request.systemPackages,
    lock,
  };
  const there = await findSame(shop, ingredients);
  if (there !== undefined) return finish(shop, ingredients, there, true);
  const file = await writeContainerfile(shop, { from: request.base, target: options?.target });
  return order({ ...shop, engine: works }, ingredients, file, folder);
}

async function buildContainerfile(shop: Workshop): Promise<ReadyImage> {
  const file = resolve(shop.request.containerfile ?? "Containerfile");
  const text = await readSmall(file);
  if (text === undefined) {
    throw new BridgeError("USAGE", `the file ${JSON.stringify(file)} cannot be read`, {
      hint: "Give --containerfile the path of a Containerfile or Dockerfile.",
    });
  }
  const ingredients: Ingredients = {
    kind: "containerfile",
    base: createHash("sha256").update(text).digest("hex"),
    baseName: undefined,
    python: undefined,
    systemPackages: [],
    lock: [],
  };
  // What it copies and fetches is not known to us: whether anything is to be built, the engine says.
  return order(shop, ingredients, file, dirname(file));
}

/** `undefined` where there is nothing to install. */
async function installOptions(
  { request }: Workshop,
  target: string,
  wheels: string | null,
): Promise<InstallOptions | undefined> {
  const { requirements, lockFile } = request;
  const text = lockFile === undefined ? undefined : await readSmall(lockFile);
  const locked = text === undefined || lockFile === undefined ? undefined : parseLock(lockFile, text);
  if (requirements.length === 0 && locked === undefined) return undefined;
  if (!/^\/[\w./+-]+$/.test(target)) {
    throw new BridgeError("IMAGE_BUILD_FAILED", `${JSON.stringify(target)} is no folder for packages`, {
      hint: "Use an image or a Python whose packages lie in an ordinary path.",
    });
  }
  return { requirements: locked ?? requirements, target, wheels, locked: locked !== undefined };
}

async function installInContainer(shop: Workshop, options: InstallOptions): Promise<readonly string[]> {
  const { engine, request, onLine, signal, folder } = shop;
  const wheels = request.wheels === undefined ? [] : await listWheels(request.wheels);
  const { base: image, network } = request;
  await using installer = await engine.images.startInstaller({ image, network, options, onLine }, signal);
  return await finishInstaller(installer.child, wheels, join(folder, PACKAGES_TAR), signal);
}

async function writeContainerfile(
  { folder, request: { systemPackages } }: Workshop,
  parts: { readonly from: string | undefined; readonly target: string | undefined },
): Promise<string> {
  const file = join(folder, "Containerfile");
  await writeFile(file, renderContainerfile({ ...parts, systemPackages }));
  return file;
}

/** The image of the same ingredients, if it is here. */
async function findSame(
  { engine, request, signal }: Workshop,
  ingredients: Ingredients,
): Promise<ImageFacts | undefined> {
  const facts = await engine.images.describe(request.tag ?? tagOf(ingredients), signal);
  const wanted = labelsOf(ingredients)[FINGERPRINT_LABEL];
  return facts?.labels[FINGERPRINT_LABEL] === wanted ? facts : undefined;
}

async function order(
  shop: Workshop,
  ingredients: Ingredients,
  file: string,
  folder: string,
): Promise<ReadyImage> {
  const { engine, request, onLine, signal } = shop;
  const tag = request.tag ?? tagOf(ingredients);
  const facts = await engine.images.build(
    {
      tag,
      folder,
      file,
      labels: labelsOf(ingredients),
      network: request.network,
      keepsLayers: ingredients.kind === "containerfile",
      onLine,
    },
    signal,
  );
  return finish(shop, ingredients, facts, false);
}

/** An image in which no sandbox starts is none. */
async function finish(
  shop: Workshop,
  ingredients: Ingredients,
  facts: ImageFacts,
  wasThere: boolean,
): Promise<ReadyImage> {
  const { request, engine } = shop;
  const name = request.tag ?? tagOf(ingredients);
  const { view } = await lookInto(shop, name);
  const { lock } = ingredients;
  if (request.lockFile !== undefined && lock.length > 0)
    await replaceFile(request.lockFile, renderLock(lock));
  return {
    name,
    facts,
    python: view.python,
    packages: packagesOf(lock),
    lock,
    engine: engine.info.engine,
    wasThere,
  };
}

async function lookInto(
  { engine, config, signal }: Workshop,
  image: string,
): Promise<{ readonly engine: ContainerEngine; readonly view: SandboxView }> {
  const viewing = await viewSandbox(engine, { ...config, image }, signal);
  if ("view" in viewing) return viewing;
  const { code, stderr } = viewing.failure;
  throw new BridgeError(
    "IMAGE_BUILD_FAILED",
    `no sandbox starts in ${JSON.stringify(image)} (exit code ${code}): ${stderr.split("\n").at(-1)?.slice(0, 300)}`,
    { hint: `It needs python3 (3.9 or newer) on its PATH; see: MCP_BRIDGE_IMAGE=${image} sandpy doctor` },
  );
}

async function readSmall(path: string): Promise<string | undefined> {
  let bytes: Uint8Array | undefined;
  try {
    await using handle = await open(path);
    // A device never ends, and a pipe does not tell its size.
    bytes = await readBounded(handle.createReadStream(), MAX_FILE_BYTES);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new BridgeError("USAGE", `${JSON.stringify(path)} cannot be read (${code})`);
  }
  if (bytes === undefined) {
    throw new BridgeError("USAGE", `${JSON.stringify(path)} has more than ${MAX_FILE_BYTES} bytes`);
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
