import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { callEngine } from "./engine-call.ts";
import type { Trouble } from "./trouble.ts";

const DEFAULT_HOST = "unix:///var/run/docker.sock";
const CONTEXT_TIMEOUT_MS = 5000;

/** Where to look; `executable` is docker's client. */
export interface DockerPlace {
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  readonly signal: AbortSignal;
}

/** Why a docker client has no daemon that answers. */
export async function findDockerTroubles(place: DockerPlace): Promise<readonly Trouble[]> {
  const { env } = place;
  const given = env["DOCKER_HOST"];
  const host = given ?? (await hostOfContext(place)) ?? DEFAULT_HOST;
  const path = /^unix:\/\/(\/.*)$/.exec(host)?.[1];
  const chosenBy =
    given === undefined ? undefined : `DOCKER_HOST is ${JSON.stringify(withoutPassword(given))}`;
  if (path === undefined) {
    const what = chosenBy ?? `the docker context in use is at ${JSON.stringify(withoutPassword(host))}`;
    return [
      problem(
        `${what}, and nothing answers there`,
        given === undefined
          ? "Start that daemon, or choose the local one."
          : "Start that daemon, or unset the variable to use the local one.",
        given === undefined ? "docker context use default" : "unset DOCKER_HOST",
      ),
    ];
  }
  const refusal = await access(path, constants.R_OK | constants.W_OK).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? "unknown",
  );
  const where = chosenBy === undefined ? `docker's socket ${path}` : `${chosenBy}: that socket`;
  if (refusal === "EACCES" || refusal === "EPERM") {
    return [
      problem(
        `${where} is there, but this user may not use it`,
        "Join its group and log in again (members can become root), or use rootless podman.",
        'sudo usermod --append --groups docker "$USER"',
      ),
    ];
  }
  const state = refusal === undefined ? "is there, but no daemon answers on it" : "does not exist";
  if (chosenBy !== undefined) {
    return [
      problem(
        `${where} ${state}`,
        "Start that daemon, or unset the variable to use the default one.",
        "unset DOCKER_HOST",
      ),
    ];
  }
  return [
    problem(`${where} ${state}`, ...startOf(place.platform, refusal === undefined ? "restart" : "start")),
  ];
}

function startOf(platform: NodeJS.Platform, verb: "start" | "restart"): [string, string] {
  if (platform === "darwin") return ["Start Docker Desktop.", "open -a Docker"];
  if (platform === "win32") return ["Start Docker Desktop.", "docker desktop start"];
  return [
    "Start docker's daemon (without systemd: sudo dockerd).",
    `sudo systemctl ${verb === "start" ? "enable --now" : "restart"} docker`,
  ];
}

async function hostOfContext({ executable, env, signal }: DockerPlace): Promise<string | undefined> {
  const args = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
  try {
    const answer = await callEngine({ executable, args, env, timeoutMs: CONTEXT_TIMEOUT_MS, signal });
    const host = answer.stdout.trim();
    return answer.code === 0 && /^[a-z]+:\/\/\S+$/.test(host) ? host : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined; // an old client has no contexts
  }
}

function withoutPassword(host: string): string {
  return host.replace(/\/\/[^/@]*@/, "//…@").slice(0, 200);
}

function problem(found: string, remedy: string, command: string): Trouble {
  return { gravity: "problem", found, remedy, command };
}
