import type { SandboxExit } from "../container/engine.ts";
import { BridgeError } from "../core/errors.ts";

/** What an engine says of a process that got SIGKILL, as from the system for want of memory. */
const KILLED = 137;
const STARVED =
  "Python was killed, mostly for want of memory: give it more by MCP_BRIDGE_MEMORY or --memory.";

/** The supervisor says why it ends: where neither a code nor a word is known, it was not its own doing. */
export function describeExit({ code, stderr }: SandboxExit): string {
  if (code === null && stderr === "") return "it was killed";
  const how = code === null ? "it ended" : `it ended with code ${code}`;
  return stderr === "" ? how : `${how}: ${stderr}`;
}

/** The error for a sandbox that came to its end before Python had greeted; `exit` is `undefined` where that is not known. */
export function startFailure(reason: string, exit: SandboxExit | undefined): BridgeError {
  return new BridgeError("KERNEL_START_FAILED", `the sandbox did not start: ${reason}`, {
    hint: `${exit?.code === KILLED ? STARVED : "Try again."} If that fails too, "sandpy doctor" starts a sandbox as the bridge does and says what is wrong.`,
    data: { exitCode: exit?.code ?? null, stderr: exit?.stderr ?? "" },
  });
}
