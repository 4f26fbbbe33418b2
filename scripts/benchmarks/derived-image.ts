import { runChild } from "../../src/core/child.ts";
import type { Containers } from "./containers.ts";
import type { World } from "./world.ts";

const TIMEOUT_MS = 60_000;

let made = 0;

/** Makes an image that is the product's own, and has a file or folder of the host beside. It needs no program of the image. */
export async function deriveImage(
  world: World,
  containers: Containers,
  { image, source, target }: { readonly image: string; readonly source: string; readonly target: string },
): Promise<void> {
  made += 1;
  const name = `sandpy-bench-${process.pid}-${made}`;
  const engine = (...args: string[]) => callEngine(world, containers, args);
  await engine("create", "--name", name, "--entrypoint", "python3", world.config.image, "-V");
  try {
    await engine("cp", source, `${name}:${target}`);
    await engine("commit", name, image);
  } finally {
    await engine("rm", name);
  }
}

/** Runs a command of the engine and returns what it printed; throws its words when it failed. */
export async function callEngine(
  world: World,
  containers: Containers,
  args: readonly string[],
): Promise<string> {
  const command = containers.engine.engine;
  const { code, stdout, stderr } = await runChild({ command, args, env: world.env, timeoutMs: TIMEOUT_MS });
  if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr}`);
  return stdout.trim();
}
