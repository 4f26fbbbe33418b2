import type { Sandbox } from "../../src/container/engine.ts";
import { startChild } from "../../src/core/child.ts";

/**
 * A process of this machine in the place of a container: the same pipes without the isolation. For tests of what
 * goes over the pipes; never for code that nobody of us wrote.
 */
export async function startHostSandbox(command: readonly string[]): Promise<Sandbox> {
  const [program = "", ...args] = command;
  const child = await startChild({ command: program, args, env: { PATH: process.env["PATH"] ?? "" } });
  const close = async () => {
    await child.stop(500);
  };
  return {
    name: `process-${child.pid}`,
    handedDown: undefined,
    stdout: child.stdout,
    write: (bytes) => child.write(bytes),
    ended: child.exited.then((exit) => ({ code: exit.code, stderr: child.stderrText() })),
    close,
    [Symbol.asyncDispose]: close,
  };
}
