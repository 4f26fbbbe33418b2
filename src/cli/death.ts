import type { Outcome } from "../session/outcome.ts";

/**
 * How a program died, to follow "the program": for a person, whom the notes of an outcome are not for, since no session
 * goes on. `undefined` where it ended as programs do.
 */
export function describeDeath({ death, exitCode }: Pick<Outcome, "death" | "exitCode">): string | undefined {
  switch (death?.reason) {
    case undefined:
      return undefined;
    case "exit":
      return `ended with exit code ${exitCode ?? "unknown"}`;
    case "out_of_memory":
      return "was killed: out of memory";
    case "signal":
      return `was ended by ${death.signal ?? "an unknown signal"}`;
    case "sandbox":
      return `ended with its sandbox: ${death.detail ?? "it is gone"}`;
    case "reset":
    case "protocol":
      return `was ended: ${death.detail ?? "its Python was replaced"}`;
  }
}
