import { BridgeError } from "../core/errors.ts";
import type { Candidate, DetectContext, Detection } from "./detect.ts";
import { callEngine, lastLine } from "./engine-call.ts";
import { parseDockerInfo } from "./facts.ts";
import { parseJson } from "./parse-json.ts";

const ANSWER_TIMEOUT_MS = 10_000;
const OCI_RUNTIMES = ["runc", "crun"];

/** Asks docker's daemon. Each time: it may have been stopped, and it answers in a few milliseconds. */
export async function detectDocker(context: DetectContext): Promise<Detection> {
  const { executable, env, signal, ociRuntime } = context;
  const args = ["info", "--format", "{{json .}}"];
  try {
    const answer = await callEngine({ executable, args, env, timeoutMs: ANSWER_TIMEOUT_MS, signal });
    const docker = parseDockerInfo(parseJson(answer.stdout));
    // Newer clients put the reason on stderr, older ones into the answer.
    const words = lastLine(answer.stderr);
    if ("reason" in docker) return { reason: words === "" ? docker.reason : `${docker.reason}: ${words}` };
    const others = OCI_RUNTIMES.filter(
      (name) => docker.runtimes.includes(name) && name !== docker.defaultRuntime,
    );
    const choices = ociRuntime === undefined ? [undefined, ...others] : [ociRuntime];
    const candidates = choices.map(
      (choice): Candidate => ({ facts: docker.facts, ociRuntime: choice, remember: async () => undefined }),
    );
    return { candidates, forget: async () => undefined };
  } catch (error) {
    if (error instanceof BridgeError && error.code !== "CANCELLED") return { reason: error.message, error };
    throw error;
  }
}
