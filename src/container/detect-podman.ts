import { BridgeError } from "../core/errors.ts";
import type { Candidate, DetectContext, Detection } from "./detection.ts";
import { callEngine, lastLine } from "./engine-call.ts";
import {
  type CgroupFacts,
  type EngineFacts,
  inferPodmanFacts,
  parsePodmanInfo,
  readCgroups,
  record,
} from "./facts.ts";
import { createNoHandingDown, HandingDown } from "./handing-down.ts";
import {
  findChosenRuntime,
  findContainersConf,
  findOciRuntimes,
  isOrdinaryRuntime,
  stampPodman,
} from "./machine.ts";
import { parseJson } from "./parse-json.ts";
import { PodmanMemory, type Recollection } from "./podman-memory.ts";

/**
 * Asks podman as little as possible: `podman info` takes longer than starting a container. A local podman's facts
 * follow from the machine, and what had to be asked is kept until the machine changes.
 */
export async function detectPodman(context: DetectContext): Promise<Detection> {
  const { executable, env, cache, log, ociRuntime: configured } = context;
  const [confFiles, runtimes, cgroups] = await Promise.all([
    findContainersConf(env),
    findOciRuntimes(env),
    process.platform === "linux" ? readCgroups() : undefined,
  ]);
  const [stamp, chosen] = await Promise.all([
    stampPodman(executable, env, confFiles, runtimes),
    findChosenRuntime(confFiles),
  ]);
  const memory = new PodmanMemory(cache, executable, stamp, log);
  const known = await memory.recall();
  const facts = known?.facts ?? (await askPodman(context, cgroups));
  const { remote } = facts;
  let recollection: Recollection = known ?? { facts };
  const keep = (more: Partial<Recollection>) => {
    recollection = { ...recollection, ...more };
    return memory.keep(recollection);
  };
  // A remote podman changes without a trace on this machine: it is asked each time.
  if (known === undefined && !remote) await keep({});

  const choices = remote
    ? [configured]
    : orderRuntimes({
        configured,
        remembered: known?.ociRuntime,
        predicted: predictRuntime(cgroups, chosen !== undefined, runtimes),
        present: [...runtimes.keys()],
      });
  if (configured === undefined && choices[0] !== undefined) {
    log.warning("podman's default OCI runtime does not work on this machine; another one is used", {
      used: choices[0],
      quiet_by: `MCP_BRIDGE_OCI_RUNTIME=${choices[0]}`,
    });
  }
  const handingDown = new HandingDown(known?.handsDown, (trust) => keep({ handsDown: trust }));
  const candidateOf = (ociRuntime: string | undefined): Candidate => ({
    facts,
    ociRuntime,
    // Podman's own choice is one of the ordinary kind.
    handingDown:
      !remote && isOrdinaryRuntime(ociRuntime ?? chosen ?? "runc") ? handingDown : createNoHandingDown(),
    remember: async () => {
      if (configured === undefined && !remote) await keep({ ociRuntime: ociRuntime ?? null });
    },
  });
  const [best, ...others] = choices;
  return { candidates: [candidateOf(best), ...others.map(candidateOf)], forget: () => memory.forget() };
}

/**
 * Where crun cannot work it need not be tried, for its refusal takes longer than a start that succeeds: it does not do
 * hybrid cgroups, and podman takes it when it is there and no configuration says otherwise.
 */
export function predictRuntime(
  cgroups: CgroupFacts | undefined,
  isConfigured: boolean,
  runtimes: ReadonlyMap<string, string>,
): string | undefined {
  const fails = cgroups?.hybrid === true && !isConfigured && runtimes.has("crun");
  return fails && runtimes.has("runc") ? "runc" : undefined;
}

/** The runtimes to try, best first; `undefined` stands for podman's default. */
export function orderRuntimes(known: {
  readonly configured: string | undefined;
  /** `null`: the default, `undefined`: nothing is remembered. */
  readonly remembered: string | null | undefined;
  readonly predicted: string | undefined;
  readonly present: readonly string[];
}): (string | undefined)[] {
  if (known.configured !== undefined) return [known.configured];
  const first = known.remembered === undefined ? known.predicted : (known.remembered ?? undefined);
  return [...new Set([first, undefined, ...known.present])];
}

async function askPodman(context: DetectContext, cgroups: CgroupFacts | undefined): Promise<EngineFacts> {
  const version = record(await ask(context, ["version", "--format", "json"]));
  const client = record(version["Client"])["Version"];
  // A local podman has no server part.
  const remote = version["Server"] !== undefined && version["Server"] !== null;
  const inferred =
    remote || typeof client !== "string" || cgroups === undefined
      ? undefined
      : inferPodmanFacts(client, process.geteuid?.() ?? -1, cgroups);
  const facts = inferred ?? parsePodmanInfo(await ask(context, ["info", "--format", "json"]), remote);
  if (facts !== undefined) return facts;
  throw new BridgeError("ENGINE_FAILED", '"podman info --format json" gave an answer that is not podman\'s');
}

async function ask(context: DetectContext, args: readonly string[]): Promise<unknown> {
  const { executable, env, timeoutMs, signal } = context;
  const answer = await callEngine({ executable, args, env, timeoutMs, signal });
  if (answer.code === 0) return parseJson(answer.stdout);
  const words = lastLine(answer.stderr);
  throw new BridgeError("ENGINE_FAILED", `"podman ${args.join(" ")}" failed (${answer.code}): ${words}`);
}
