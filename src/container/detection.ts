import type { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { PrivateFolder } from "../core/private-folder.ts";
import type { EngineFacts } from "./facts.ts";
import type { HandingDown } from "./handing-down.ts";

/** What the detection of one engine gets. */
export interface DetectContext {
  /** Absolute path of the engine's client. */
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  /** The OCI runtime that the user chose. */
  readonly ociRuntime: string | undefined;
  readonly cache: PrivateFolder;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What asking an engine gave: the ways to run it, or why there is none. */
export type Detection = Choices | Refusal;

/** The ways to run an engine, best first. */
export interface Choices {
  readonly candidates: readonly [Candidate, ...Candidate[]];
  /** Drops what was remembered, after a start that failed. */
  readonly forget: () => Promise<void>;
}

/** One way to run an engine: its facts, with the OCI runtime chosen (`undefined` for the engine's default). */
export interface Candidate {
  readonly facts: EngineFacts;
  readonly ociRuntime: string | undefined;
  /** Whether its containers get descriptors of its client. */
  readonly handingDown: HandingDown;
  readonly remember: () => Promise<void>;
}

/** Why an engine is of no use, in one line. */
export interface Refusal {
  readonly reason: string;
  readonly error?: BridgeError;
}
