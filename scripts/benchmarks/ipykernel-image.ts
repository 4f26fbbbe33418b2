import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";
import type { Containers } from "./containers.ts";
import type { World } from "./world.ts";

const REQUIREMENTS = join(import.meta.dir, "requirements.txt");
const TIMEOUT_MS = 60_000;
const FOLDER = "opt/ipykernel";
const LIBRARIES = `${FOLDER}/.libraries`;
/** What a wheel of zmq takes for granted, and an image made of nothing but Python lacks. */
const SHARED = ["libpthread.so.0", "librt.so.1", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"];
const SYSTEM_FOLDERS = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];
const PROBE = `import ctypes, sys
def lacks(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return True
print("%d.%d" % sys.version_info[:2], *filter(lacks, ${JSON.stringify(SHARED)}))`;

/** How a container of the image of {@link makeIpykernelImage} runs a Python program that imports ipykernel. */
export const IPYKERNEL_COMMAND = [
  "env",
  `PYTHONPATH=/${FOLDER}`,
  `LD_LIBRARY_PATH=/${LIBRARIES}`,
  "python3",
  "-c",
];

/**
 * Makes an image that is the product's own, and has ipykernel beside: both kernels then run in the same Python, behind
 * the same flags. It needs no program of the image but Python, and stays for the next run.
 */
export async function makeIpykernelImage(world: World, containers: Containers): Promise<string> {
  const { image } = world.config;
  const engine = (...args: string[]) => call(world, containers.engine.engine, args);
  const base = await engine("image", "inspect", "--format", "{{.Id}}", image);
  const key = Bun.hash(base + readFileSync(REQUIREMENTS, "utf8")).toString(36);
  const made = `localhost/sandpy-bench:ipykernel-${key}`;
  if ((await engine("images", "--quiet", made)) !== "") return made;

  const [version = "", ...missing] = (await containers.outputOf("python3", "-c", PROBE)).trim().split(" ");
  const stage = join(world.root, `.tools/bench-image-${version}`);
  if (!existsSync(join(stage, FOLDER))) await install(world, version, stage);
  mkdirSync(join(stage, LIBRARIES), { recursive: true });
  for (const name of missing) cpSync(findLibrary(name), join(stage, LIBRARIES, name));

  const name = `sandpy-bench-${process.pid}`;
  await engine("create", "--name", name, "--entrypoint", "python3", image, "-V");
  try {
    await engine("cp", `${stage}/.`, `${name}:/`);
    await engine("commit", name, made);
  } finally {
    await engine("rm", name);
  }
  return made;
}

/** For the image's Python, which need not be one that this machine has. */
async function install(world: World, version: string, stage: string): Promise<void> {
  const pip = join(world.root, ".tools/bench-venv/bin/pip");
  if (!existsSync(pip)) throw new Error("ipykernel cannot be installed: run ./scripts/bench");
  const partial = `${stage}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const where = ["--target", join(partial, FOLDER), "--python-version", version, "--only-binary=:all:"];
  const what = ["--requirement", REQUIREMENTS];
  await call(world, pip, ["install", "--quiet", "--disable-pip-version-check", ...where, ...what]);
  cpSync(partial, stage, { recursive: true });
  rmSync(partial, { recursive: true });
}

/** Here, as the image that lacks one was made of this machine's own files. */
function findLibrary(name: string): string {
  for (const folder of SYSTEM_FOLDERS.filter(existsSync)) {
    const inside = readdirSync(folder).filter((entry) => entry.includes("-linux-"));
    for (const candidate of [folder, ...inside.map((entry) => join(folder, entry))]) {
      if (existsSync(join(candidate, name))) return realpathSync(join(candidate, name));
    }
  }
  throw new Error(`the image has no ${name}, nor has this machine`);
}

async function call(world: World, command: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runChild({ command, args, env: world.env, timeoutMs: TIMEOUT_MS });
  if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr}`);
  return stdout.trim();
}
