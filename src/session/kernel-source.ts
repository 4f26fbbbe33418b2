import type { Kernel, KernelEvents } from "../kernel/kernel.ts";

/** A kernel that was started for a session. */
export interface StartedKernel {
  readonly kernel: Kernel;
  /** Sentences for the model about this sandbox: limits that are not enforced, … */
  readonly notes: readonly string[];
  /** It was ready before it was asked for. */
  readonly fromPool?: boolean;
}

/** Where a session gets its kernels; `app` joins it to the container engine. */
export interface KernelSource {
  /** Rejects with a BridgeError (no engine, no image, …); nothing is left running then. */
  start(events: KernelEvents, signal: AbortSignal): Promise<StartedKernel>;
}
