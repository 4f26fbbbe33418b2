import type { Candidate, DetectContext, Detection } from "./detection.ts";
import { callEngine, lastLine } from "./engine-call.ts";
import { parseDockerInfo } from "./facts.ts";
import { createNoHandingDown } from "./handing-down.ts";
import { parseJson } from "./parse-json.ts";

const OCI_RUNTIMES = ["runc", "crun"];

/** Asks docker's daemon. Each time: it may have been stopped, and it answers in a few milliseconds. */
export async function detectDocker(context: DetectContext): Promise<Detection> {
  const { executable, env, timeoutMs, signal, ociRuntime: configured } = context;
  const args = ["info", "--format", "{{json .}}"];
  const answer = await callEngine({ executable, args, env, timeoutMs, signal });
  const docker = parseDockerInfo(parseJson(answer.stdout));
  if ("reason" in docker) {
    // Newer clients put their words on stderr, older ones into the answer.
    const words = lastLine(answer.stderr);
    return { reason: words === "" ? docker.reason : `${docker.reason}: ${words}` };
  }
  const others = OCI_RUNTIMES.filter(
    (name) => docker.runtimes.includes(name) && name !== docker.defaultRuntime,
  );
  // Nothing is kept: the daemon is asked each time, and its default runtime is its own to choose.
  const candidateOf = (ociRuntime: string | undefined): Candidate => ({
    facts: docker.facts,
    ociRuntime,
    handingDown: createNoHandingDown(), // its containers are children of the daemon
    remember: async () => undefined,
  });
  const candidates = [
    candidateOf(configured),
    ...(configured === undefined ? others.map(candidateOf) : []),
  ] as const;
  return { candidates, forget: async () => undefined };
}
