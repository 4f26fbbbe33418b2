import type { Outcome } from "../../session/outcome.ts";
import { STOP_SIGNALS, type StopSignal } from "../context.ts";

const EXIT_TIMEOUT = 124; // as timeout(1)
const EXIT_KILLED = 137; // as a shell says of SIGKILL, which is how the kernel ends what is out of memory
const EXIT_PIPE = 141; // as a shell says of SIGPIPE
/** Above it, as a shell says of signals. */
export const EXIT_SIGNALS = 128;

/**
 * The exit code that tells how a program ended; `signal` is what stopped it. One that handled the interrupt and ended by
 * itself has its own.
 */
export function exitCodeOf(
  { status, exitCode, ownStatus }: Pick<Outcome, "status" | "exitCode" | "ownStatus">,
  signal: StopSignal | undefined,
): number {
  switch (status) {
    case "ok":
      return 0;
    case "exit":
      return (exitCode ?? 0) & 0xff;
    case "error":
      return 1;
    case "timeout":
      return EXIT_TIMEOUT;
    case "died":
      return exitCode === null ? EXIT_KILLED : exitCode & 0xff;
    case "cancelled":
      if (signal === undefined) return EXIT_PIPE;
      return ownStatus === undefined
        ? exitCodeOfSignal(signal)
        : exitCodeOf({ status: ownStatus, exitCode }, signal);
  }
}

export function exitCodeOfSignal(signal: StopSignal): number {
  return EXIT_SIGNALS + STOP_SIGNALS[signal];
}
