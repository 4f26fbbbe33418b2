import { cpSync, existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Containers } from "./containers.ts";
import { callEngine, deriveImage } from "./derived-image.ts";
import { getIpykernel } from "./ipykernel-packages.ts";
import type { World } from "./world.ts";

const FOLDER = "ipykernel";
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
  `PYTHONPATH=/${FOLDER}/packages`,
  `LD_LIBRARY_PATH=/${FOLDER}/libraries`,
  "python3",
  "-c",
];

/** An image that has ipykernel, and where that is from. */
export interface IpykernelImage {
  readonly image: string;
  readonly origin: string;
}

/**
 * Makes an image that is the product's own, and has ipykernel beside: both kernels then run in the same Python, behind
 * the same flags. It needs no program of the image but Python, and stays for the next run.
 */
export async function makeIpykernelImage(world: World, containers: Containers): Promise<IpykernelImage> {
  const { image } = world.config;
  const engine = (...args: string[]) => callEngine(world, containers, args);
  const [version = "", ...missing] = (await containers.outputOf("python3", "-c", PROBE)).trim().split(" ");
  const { origin, folder } = await getIpykernel(world, version);
  const base = await engine("image", "inspect", "--format", "{{.Id}}", image);
  const made = `localhost/sandpy-bench:ipykernel-${Bun.hash(base + origin).toString(36)}`;
  if ((await engine("images", "--quiet", made)) !== "") return { image: made, origin };

  for (const name of missing) cpSync(findLibrary(name), join(folder, "libraries", name));
  await deriveImage(world, containers, { image: made, source: folder, target: `/${FOLDER}` });
  return { image: made, origin };
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
