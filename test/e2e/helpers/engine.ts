import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeStorageFile } from "../../../scripts/isolated-environment.ts";
import { runChild } from "../../../src/core/child.ts";

/**
 * `podman-gvisor`, `docker-gvisor`: with the OCI runtime `runsc`, for the files that are about isolation; docker's daemon must know
 * it, and no script starts such a one.
 */
const FLAVOURS = ["podman", "podman-rootless", "podman-gvisor", "docker", "docker-gvisor"] as const;

/** The engine that this run of the end-to-end tests is about. `scripts/test` sets it, once for each engine. */
export const flavour = (() => {
  const value = process.env["SANDPY_TEST_ENGINE"];
  const known = FLAVOURS.find((name) => name === value);
  if (known === undefined) {
    throw new Error(
      `SANDPY_TEST_ENGINE is ${value}: expected ${FLAVOURS.join(", ")}; run ./scripts/test e2e`,
    );
  }
  return known;
})();

/** Whether calls of the sandbox are answered by gVisor, and not by this machine's kernel. */
export const isGvisor = flavour.endsWith("-gvisor");

export const engine: "podman" | "docker" = flavour.startsWith("docker") ? "docker" : "podman";

/** The binary under test. */
export const BINARY = join(import.meta.dir, "../../../dist/sandpy");
if (!existsSync(BINARY)) throw new Error(`${BINARY} does not exist: run ./scripts/build`);

const REAL_HOME = process.env["SANDPY_TEST_REAL_HOME"] ?? "/";

/** What the engine's client needs to find its own storage and daemon, wherever HOME points. */
const engineEnv: Readonly<Record<string, string>> = (() => {
  const names = ["PATH", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINERS_CONF", "TMPDIR", "USER"];
  const kept = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const env = Object.fromEntries(kept);
  return flavour === "podman-rootless" ? { ...env, CONTAINERS_STORAGE_CONF: describeStorage(env) } : env;
})();

/** `XDG_DATA_HOME` would say it too, and have the bridge write into the home of whoever runs the tests. */
function describeStorage(env: Readonly<Record<string, string>>): string {
  const file = writeStorageFile(process.env["HOME"] ?? "/", { ...env, HOME: REAL_HOME });
  if (file === undefined) throw new Error("podman does not say where its storage is: podman info");
  return file;
}

/** The environment of a bridge whose home is `home`: nothing of the developer's but the way to the engine. */
export function bridgeEnv(
  home: string,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const image = process.env["MCP_BRIDGE_IMAGE"];
  return {
    ...engineEnv,
    HOME: home,
    MCP_BRIDGE_AUDIT: join(home, ".local/share/sandpy/audit.jsonl"), // also where our own folders are not below the home
    MCP_BRIDGE_RUNTIME: engine,
    ...(isGvisor ? { MCP_BRIDGE_OCI_RUNTIME: "runsc" } : {}),
    ...(image === undefined ? {} : { MCP_BRIDGE_IMAGE: image }),
    ...extra,
  };
}

/** Runs the engine's own client and returns its stdout. */
export async function runEngine(...args: string[]): Promise<string> {
  const env = { ...engineEnv, HOME: REAL_HOME };
  const result = await runChild({ command: engine, args, env, timeoutMs: 20_000 });
  if (result.code !== 0) throw new Error(`${engine} ${args.join(" ")}: ${result.stderr}`);
  return result.stdout.trim();
}

/** Names of the containers that the bridge with this process id has made and that still exist. */
export async function containersOf(pid: number): Promise<string[]> {
  const names = await runEngine(
    "ps",
    "-a",
    "--filter",
    `label=io.sandpy.pid=${pid}`,
    "--format",
    "{{.Names}}",
  );
  return names.split("\n").filter((name) => name !== "");
}

/** Waits until there are so many of them, and returns their names, the oldest first: a bridge counts in its names. */
export async function untilContainers(pid: number, count: number): Promise<readonly string[]> {
  let names: string[] = [];
  await until(`the bridge has ${count} containers`, async () => {
    names = (await containersOf(pid)).sort((one, other) => ordinalOf(one) - ordinalOf(other));
    return names.length === count;
  });
  return names;
}

/** Which of its bridge's containers it is, from 1 on. */
export function ordinalOf(name: string): number {
  return Number(name.split("-").at(-1));
}

/** Waits until `isTrue` holds; the error says what was waited for. */
export async function until(
  what: string,
  isTrue: () => Promise<boolean> | boolean,
  deadlineMs = 30_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`${what}: not so after ${deadlineMs} ms`);
    await Bun.sleep(50);
  }
}
