import { createHash } from "node:crypto";
import { BridgeError } from "../core/errors.ts";
import type { Candidate, DetectContext, Detection } from "./detect.ts";
import { callEngine, lastLine } from "./engine-call.ts";
import {
  type CgroupFacts,
  type EngineFacts,
  inferPodmanFacts,
  parsePodmanInfo,
  readCgroups,
  record,
} from "./facts.ts";
import { choosesRuntime, findContainersConf, findOciRuntimes, stampPodman } from "./machine.ts";
import { parseJson } from "./parse-json.ts";

const ANSWER_TIMEOUT_MS = 10_000;

/** What is kept about a podman between runs of the bridge, as long as its stamp holds. */
interface Memory {
  readonly stamp: string;
  readonly facts: EngineFacts;
  /** The OCI runtime that worked where the default did not; `null` for the default. */
  readonly ociRuntime: string | null;
}

/**
 * Asks podman as little as possible: `podman info` takes longer than starting a container. A local podman's facts
 * follow from the machine, and what had to be asked is kept until the machine changes.
 */
export async function detectPodman(context: DetectContext): Promise<Detection> {
  const { executable, env, cache, log } = context;
  const [confFiles, runtimes, cgroups] = await Promise.all([
    findContainersConf(env),
    findOciRuntimes(env),
    process.platform === "linux" ? readCgroups() : undefined,
  ]);
  const stamp = await stampPodman(executable, env, confFiles, runtimes);
  const file = `podman-${createHash("sha256").update(executable).digest("hex").slice(0, 16)}.json`;
  const memory = parseMemory(await cache.read(file), stamp);
  let asked: Asked | undefined;
  try {
    asked = memory === undefined ? await askPodman(context, cgroups) : { facts: memory.facts, remote: false };
  } catch (error) {
    if (error instanceof BridgeError && error.code !== "CANCELLED") return { reason: error.message, error };
    throw error;
  }
  const { facts, remote } = asked;
  const keep = async (ociRuntime: string | undefined) => {
    // A remote podman changes without a trace on this machine: it is asked each time.
    if (remote) return;
    const text = JSON.stringify({ stamp, facts, ociRuntime: ociRuntime ?? null } satisfies Memory);
    // Forgetting only costs time.
    await cache
      .write(file, text)
      .catch((error) => log.debug("could not keep what podman said", { error: String(error) }));
  };
  const remembered = memory === undefined ? undefined : { ociRuntime: memory.ociRuntime ?? undefined };
  const expected = remembered ?? (remote ? undefined : await predictRuntime(cgroups, confFiles, runtimes));
  const choices = orderRuntimes(context.ociRuntime, expected?.ociRuntime, remote ? [] : [...runtimes.keys()]);
  if (context.ociRuntime === undefined && choices[0] !== undefined)
    log.warning("podman's default OCI runtime does not work on this machine, another is used", {
      using: choices[0],
    });
  if (memory === undefined) await keep(context.ociRuntime === undefined ? choices[0] : undefined);
  const candidates = choices.map(
    (ociRuntime): Candidate => ({
      facts,
      ociRuntime,
      remember: async () => {
        if (context.ociRuntime === undefined) await keep(ociRuntime);
      },
    }),
  );
  return { candidates, forget: () => cache.remove(file) };
}

interface Asked {
  readonly facts: EngineFacts;
  readonly remote: boolean;
}

async function askPodman(context: DetectContext, cgroups: CgroupFacts | undefined): Promise<Asked> {
  const version = record(await ask(context, ["version", "--format", "json"]));
  const client = record(version["Client"])["Version"];
  // A local podman has no server part.
  const remote = version["Server"] !== undefined && version["Server"] !== null;
  const uid = process.geteuid?.() ?? -1;
  if (!remote && typeof client === "string" && cgroups !== undefined) {
    const facts = inferPodmanFacts(client, uid, cgroups);
    if (facts !== undefined) return { facts, remote };
  }
  const facts = parsePodmanInfo(await ask(context, ["info", "--format", "json"]));
  if (facts !== undefined) return { facts, remote };
  throw new BridgeError("ENGINE_FAILED", '"podman info" gave an answer that is not podman\'s');
}

async function ask(context: DetectContext, args: readonly string[]): Promise<unknown> {
  const { executable, env, signal } = context;
  const answer = await callEngine({ executable, args, env, timeoutMs: ANSWER_TIMEOUT_MS, signal });
  if (answer.code === 0) return parseJson(answer.stdout);
  const words = lastLine(answer.stderr);
  throw new BridgeError("ENGINE_FAILED", `"podman ${args[0]}" failed (${answer.code}): ${words}`);
}

/**
 * Where crun cannot work it need not be tried, for that takes longer than a start that succeeds: it refuses hybrid
 * cgroups, and podman takes it when it is there and no configuration says otherwise.
 */
async function predictRuntime(
  cgroups: CgroupFacts | undefined,
  confFiles: readonly string[],
  runtimes: ReadonlyMap<string, string>,
): Promise<{ readonly ociRuntime: string } | undefined> {
  if (cgroups?.hybrid !== true || !runtimes.has("crun") || !runtimes.has("runc")) return undefined;
  return (await choosesRuntime(confFiles)) ? undefined : { ociRuntime: "runc" };
}

function orderRuntimes(
  configured: string | undefined,
  first: string | undefined,
  present: readonly string[],
): (string | undefined)[] {
  if (configured !== undefined) return [configured];
  return [...new Set([first, undefined, ...present])];
}

function parseMemory(text: string | undefined, stamp: string): Memory | undefined {
  const memory = record(parseJson(text ?? ""));
  return memory["stamp"] === stamp ? (memory as unknown as Memory) : undefined;
}
