import { randomBytes } from "node:crypto";
import { BridgeError } from "../core/errors.ts";
import type { AuditOutcome } from "./audit/audit-line.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { CallCap } from "./call-cap.ts";
import type { Mask } from "./mask.ts";

/** What is known of a call. Whoever makes it puts the names right once they are found, and says what to hide. */
export interface CallFacts {
  readonly method: string;
  readonly arguments: unknown;
  server: string;
  tool: string | undefined;
  mask: Mask;
}

/** A call as it was asked for. */
export function createFacts(method: string, server: string, args: unknown, tool?: string): CallFacts {
  return { method, server, arguments: args, tool, mask: (text) => text };
}

export interface CallWatchOptions {
  /** `undefined`: as many as wanted. */
  readonly cap: CallCap | undefined;
  /** `undefined`: nothing is written down. */
  readonly audit: AuditLog | undefined;
}

/** Counts the calls of one session and has them written down. */
export class CallWatch {
  readonly #options: CallWatchOptions;
  readonly #session = randomBytes(6).toString("hex");
  #isOverCap = false;

  constructor(options: CallWatchOptions) {
    this.#options = options;
  }

  beginRun(): void {
    this.#options.cap?.beginRun();
    this.#isOverCap = false;
  }

  /** Makes a call. Rejects with `LIMIT_EXCEEDED` for one too many, else as `work` does. */
  async watch<T extends object>(facts: CallFacts, work: () => Promise<T>): Promise<T> {
    const at = Date.now();
    const startedAt = performance.now();
    const record = (outcome: AuditOutcome, code?: string) => {
      const ms = performance.now() - startedAt;
      this.#options.audit?.record({ ...facts, at, session: this.#session, outcome, code, ms });
    };
    this.#admit(record);
    try {
      const result = await work();
      record((result as { readonly isError?: unknown }).isError === true ? "error" : "ok");
      return result;
    } catch (error) {
      const code = error instanceof BridgeError ? error.code : "INTERNAL";
      record(OUTCOMES[code] ?? "error", code);
      throw error;
    }
  }

  /** A loop that goes on all the same is written down once. */
  #admit(record: (outcome: AuditOutcome, code: string) => void): void {
    try {
      this.#options.cap?.admit();
    } catch (error) {
      if (!this.#isOverCap) record("refused", "LIMIT_EXCEEDED");
      this.#isOverCap = true;
      throw error;
    }
  }
}

const OUTCOMES: Readonly<Record<string, AuditOutcome>> = {
  UPSTREAM_NOT_USABLE: "refused",
  UPSTREAM_TIMEOUT: "timeout",
  CANCELLED: "cancelled",
};
