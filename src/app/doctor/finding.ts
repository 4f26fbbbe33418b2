import type { BridgeError } from "../../core/errors.ts";

/** What is looked at, in the order in which it is shown. */
export const CHECKS = [
  "versions",
  "home",
  "own-limits",
  "settings",
  "engine",
  "rootless",
  "oci-runtime",
  "cgroups",
  "image",
  "sandbox",
  "python",
  "network",
  "kernel-surface",
  "file-system",
  "privileges",
  "memory-limit",
  "process-limit",
  "servers",
  "state-directory",
] as const;
export type CheckName = (typeof CHECKS)[number];

/** `skipped`: it could not be looked at, because of what another finding says. */
export type FindingStatus = "ok" | "warning" | "problem" | "skipped";

/** What was found of one thing, and what mends it. */
export interface Finding {
  readonly check: CheckName;
  readonly status: FindingStatus;
  /** One line, for people. */
  readonly found: string;
  /** What to do, in a sentence; `undefined` where there is nothing to do. */
  readonly remedy?: string | undefined;
  /** What to type for it. */
  readonly command?: string | undefined;
  /** The same for programs; never a secret. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

/** A finding from a failure of ours; its hint is what to do. */
export function findingOf(check: CheckName, { message, hint, code }: BridgeError): Finding {
  return { check, status: "problem", found: message, remedy: hint, facts: { code } };
}
