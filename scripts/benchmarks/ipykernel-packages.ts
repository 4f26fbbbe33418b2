import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";
import type { World } from "./world.ts";

const REQUIREMENTS = join(import.meta.dir, "requirements.txt");
const TIMEOUT_MS = 60_000;
const DEBIAN = ["python3-ipykernel", "python3-jupyter-client"];
/** What zmq is a binding of. */
const LIBRARY = "libzmq5";
/** These stay the image's own: its Python is made for them. */
const OF_THE_IMAGE = /^(libc6|libcrypt1|libgcc-s1|libstdc\+\+6|gcc-\d+-base)$/;

/** Packages of Python on the disk, and where they are from, such as `Debian's ipykernel 6.17.0-1`. */
export interface IpykernelPackages {
  readonly origin: string;
  readonly folder: string;
}

/**
 * Gets ipykernel for a Python of this `version` (such as `3.11`) into `.tools/`: Debian's packages where this machine
 * knows them for that version, else those of PyPI that `requirements.txt` names. The second time it is there already.
 */
export async function getIpykernel(world: World, version: string): Promise<IpykernelPackages> {
  const closure = await debianClosure(world, DEBIAN);
  const isDebian = closure.includes(`python${version}`);
  const folder = join(world.root, `.tools/bench-ipykernel-${isDebian ? "debian" : "pypi"}-${version}`);
  const origin = join(folder, "origin.txt");
  if (!existsSync(origin)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const said = isDebian
      ? await getFromDebian(world, closure, folder)
      : await getFromPypi(world, version, folder);
    writeFileSync(origin, said);
  }
  return { origin: readFileSync(origin, "utf8"), folder };
}

/** The names of all packages that some need, themselves included; empty where there is no apt, or it does not know them. */
async function debianClosure(world: World, names: readonly string[]): Promise<string[]> {
  const nothingIsInstalled = ["-o", "Dir::State::status=/dev/null"];
  const args = ["-qq", ...nothingIsInstalled, "--print-uris", "--no-install-recommends", "install", ...names];
  const plan = await call(world, world.root, "apt-get", args).catch(() => "");
  return plan.split("\n").flatMap((line) => /^'.*' ([^_ ]+)_/.exec(line)?.[1] ?? []);
}

async function getFromDebian(world: World, closure: readonly string[], folder: string): Promise<string> {
  const modules = closure.filter((name) => name.startsWith("python3-") && name !== "python3-minimal");
  const libraries = (await debianClosure(world, [LIBRARY])).filter((name) => !OF_THE_IMAGE.test(name));
  const archives = join(folder, "archives");
  mkdirSync(archives);
  await call(world, archives, "apt-get", ["-qq", "download", ...modules, ...libraries]);
  const files = readdirSync(archives);
  const unpacked = join(folder, "unpacked");
  for (const file of files) await call(world, archives, "dpkg", ["-x", file, unpacked]);
  renameSync(join(unpacked, "usr/lib/python3/dist-packages"), join(folder, "packages"));
  mkdirSync(join(folder, "libraries"));
  for (const root of ["usr/lib", "lib"].map((name) => join(unpacked, name)).filter(existsSync)) {
    for (const name of readdirSync(root).filter((entry) => entry.includes("-linux-"))) {
      for (const file of readdirSync(join(root, name)).filter((entry) => entry.includes(".so"))) {
        renameSync(join(root, name, file), join(folder, "libraries", file));
      }
    }
  }
  rmSync(unpacked, { recursive: true });
  rmSync(archives, { recursive: true });
  const [main = ""] = files.filter((file) => file.startsWith(`${DEBIAN[0]}_`));
  return `Debian's ipykernel ${main.split("_")[1]}`;
}

/** For a Python that need not be one that this machine has. */
async function getFromPypi(world: World, version: string, folder: string): Promise<string> {
  const pip = join(world.root, ".tools/bench-venv/bin/pip");
  if (!existsSync(pip)) throw new Error("ipykernel cannot be installed: run ./scripts/bench");
  const where = ["--target", join(folder, "packages"), "--python-version", version, "--only-binary=:all:"];
  const what = ["--requirement", REQUIREMENTS];
  await call(world, world.root, pip, [
    "install",
    "--quiet",
    "--disable-pip-version-check",
    ...where,
    ...what,
  ]);
  mkdirSync(join(folder, "libraries"));
  return `PyPI's ${/^ipykernel==.*$/m.exec(readFileSync(REQUIREMENTS, "utf8"))?.[0].replace("==", " ")}`;
}

async function call(world: World, cwd: string, command: string, args: readonly string[]): Promise<string> {
  const options = { command, args, cwd, env: world.env, timeoutMs: TIMEOUT_MS };
  const { code, stdout, stderr } = await runChild(options);
  if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr}`);
  return stdout;
}
