import type { Sandbox } from "../../src/container/engine.ts";
import { SANDBOX_COMMAND } from "../../src/kernel/command.ts";
import { type KernelOptions, startKernel } from "../../src/kernel/kernel.ts";
import { MAX_FRAME_BYTES, PROTOCOL } from "../../src/kernel/protocol.ts";
import type { KernelSource } from "../../src/session/kernel-source.ts";
import { startHostSandbox } from "./host-sandbox.ts";
import { createMemoryLog } from "./logs.ts";

const log = createMemoryLog();

/** The real Python program as processes of this machine in the place of containers; `sandboxes` are all it started. */
export function createHostKernels(
  wholeOutput = false,
  options: Partial<KernelOptions> = {},
): KernelSource & { readonly sandboxes: readonly Sandbox[] } {
  const sandboxes: Sandbox[] = [];
  return {
    sandboxes,
    async start(events, signal) {
      const sandbox = await startHostSandbox(SANDBOX_COMMAND);
      sandboxes.push(sandbox);
      const settings = {
        protocol: PROTOCOL,
        max_frame_bytes: MAX_FRAME_BYTES,
        output_bytes: 1000,
        whole_output: wholeOutput,
        rlimits: null,
      };
      const all = { sandbox, settings, events, log, helloDeadlineMs: 20_000, signal, ...options };
      const kernel = await startKernel(all);
      return { kernel, notes: [] };
    },
  };
}
