import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DetectOptions, detectEngine } from "../../../src/container/detect.ts";
import type { ContainerEngine, Sandbox, SandboxSpec } from "../../../src/container/engine.ts";
import { BridgeError } from "../../../src/core/errors.ts";
import { createMemoryLog } from "../../helpers/logs.ts";

export type EngineName = "podman" | "docker";

/** The engines and the image that `scripts/test` prepared; a test that needs one never skips itself. */
export const ENGINES = required("SANDPY_TEST_ENGINES").split(",") as EngineName[];
export const IMAGE = required("MCP_BRIDGE_IMAGE");

export const neverAborted = (): AbortSignal => new AbortController().signal;

/** The environment of an engine's client: the real home, where the images are, and a cache folder of the test's own. */
export async function engineEnv(overrides: Record<string, string> = {}): Promise<Record<string, string>> {
  const given = Object.entries(process.env).filter(([, value]) => value !== undefined) as [string, string][];
  return {
    ...Object.fromEntries(given),
    HOME: required("SANDPY_TEST_REAL_HOME"),
    XDG_CACHE_HOME: await makeFolder(),
    ...overrides,
  };
}

/** A new folder, in the home that the tests' set-up made and removes. */
export async function makeFolder(): Promise<string> {
  return mkdtemp(join(required("HOME"), "container-"));
}

/** Detects with a log that keeps its lines. */
export async function detect(
  options: Partial<DetectOptions> = {},
): Promise<{ readonly engine: ContainerEngine; readonly log: readonly string[] }> {
  const log = createMemoryLog();
  const env = options.env ?? (await engineEnv());
  const engine = await detectEngine(
    { engine: "auto", ociRuntime: undefined, log, ...options, env },
    neverAborted(),
  );
  return { engine, log: log.lines };
}

export function specOf(program: string, image = IMAGE): SandboxSpec {
  return {
    image,
    user: "65534:65534",
    limits: { memoryBytes: 256 * 1024 * 1024, pids: 64, cpus: undefined, projectsBytes: 1024 * 1024 },
    command: ["python3", "-I", "-u", "-c", program],
  };
}

/** Ignores whatever can be ignored and never reads its input. */
export const STUBBORN = `
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
print("ready")
while True: pass`;

/** The processes that start a sandbox: those with "run" and the container's name among their arguments. */
export function findClients(sandbox: Sandbox): number[] {
  const isClient = (pid: string) => {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return args.includes("run") && args.includes("--name") && args.includes(sandbox.name);
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && isClient(entry))
    .map(Number);
}

/** Reads a sandbox's stdout to its end. */
export async function readAll(sandbox: Sandbox): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of sandbox.stdout) text += decoder.decode(chunk, { stream: true });
  return text;
}

/** Reads a sandbox's first line and no more; `""` when it ends without one. */
export async function readLine(sandbox: Sandbox): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of sandbox.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text;
}

/** Runs a Python program in a sandbox to its end and returns what it printed. */
export async function runPython(
  engine: ContainerEngine,
  program: string,
  spec = specOf(program),
): Promise<string> {
  await using sandbox = await engine.start(spec, neverAborted());
  const text = await readAll(sandbox);
  const { code, stderr } = await sandbox.ended;
  if (code !== 0) throw new Error(`the program ended with ${code}: ${stderr}\n${text}`);
  return text;
}

/** Runs an engine's client and returns its stdout. */
export async function runClient(engine: EngineName, ...args: string[]): Promise<string> {
  const child = Bun.spawn([engine, ...args], { env: await engineEnv(), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${engine} ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

/** The engine with an OCI runtime that starts containers here, found as the bridge finds it. */
export async function detectWorking(name: EngineName): Promise<ContainerEngine> {
  const { engine } = await detect({ engine: name });
  for (const candidate of [engine, ...(await engine.alternatives(neverAborted()))]) {
    await using sandbox = await candidate.start(specOf("print(1)"), neverAborted());
    if ((await readLine(sandbox)) !== "") return candidate;
  }
  throw new Error(`no OCI runtime of ${name} starts a container`);
}

/** The names of the containers, running or not, that this engine has of ours and that match `name`. */
export async function listContainers(engine: EngineName, name: string): Promise<string[]> {
  const text = await runClient(engine, "ps", "--all", "--filter", `name=${name}`, "--format", "{{.Names}}");
  return text.split("\n").filter((line) => line !== "");
}

/** A folder with executables of the given names: shell scripts, for engines that cannot exist on this machine. */
export async function makePrograms(programs: Record<string, string>): Promise<string> {
  const folder = join(await makeFolder(), "bin");
  await mkdir(folder);
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

/** The bridge's error with which a promise rejects. */
export async function failureOf(promise: Promise<unknown>): Promise<BridgeError> {
  const error = await promise.then(
    () => new Error("it did not fail"),
    (reason) => reason,
  );
  if (error instanceof BridgeError) return error;
  throw error;
}

function required(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(`${name} is not set: run these tests with ./scripts/test unit`);
}
