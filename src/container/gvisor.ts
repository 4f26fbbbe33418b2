import { basename } from "node:path";

/**
 * gVisor answers system calls itself, in a process of the host that may do little. So it differs from the OCI runtimes that
 * start ordinary processes, and where that matters this file says how.
 */

/** Whether an OCI runtime is gVisor's, by its name or path: "runsc", or one that begins so, such as "runsc-kvm". */
export function isGvisor(ociRuntime: string | undefined): boolean {
  return ociRuntime !== undefined && basename(ociRuntime).startsWith("runsc");
}

/** Its own network stack is not even started: without this flag it looks for interfaces, which older ones then fail at. */
const NO_NETWORK = "network=none";
/** Without it, it ignores the seccomp profile: its calls are not the machine's. With it they are fewer, too. */
const SECCOMP = "oci-seccomp";

/** What chooses the OCI runtime: podman takes it before its command, docker after. Docker's daemon has the flags of each. */
export function runtimeArgs(
  engine: "podman" | "docker",
  ociRuntime: string | undefined,
  hasNetwork: boolean,
): string[] {
  if (ociRuntime === undefined) return [];
  const isTold = engine === "podman" && isGvisor(ociRuntime);
  const flags = isTold ? [...(hasNetwork ? [] : [NO_NETWORK]), SECCOMP] : [];
  return ["--runtime", ociRuntime, ...flags.flatMap((flag) => ["--runtime-flag", flag])];
}
