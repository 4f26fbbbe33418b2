import type { BridgeEvents, SessionRef } from "../core/bridge-events.ts";
import { BridgeError } from "../core/errors.ts";
import { currentRun } from "../core/run-context.ts";
import { type Span, type Tracing, traced } from "../core/tracing.ts";
import type { ApprovalRecord, AuditOutcome } from "./audit/audit-line.ts";
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
  /** Where the user had to be asked: how that went, and how long it took. */
  approval?: ApprovalRecord;
  askedMs?: number;
}

/** A call as it was asked for. */
export function createFacts(method: string, server: string, args: unknown, tool?: string): CallFacts {
  return { method, server, arguments: args, tool, mask: (text) => text };
}

export interface CallWatchOptions {
  /** Whose calls they are. */
  readonly session: SessionRef;
  /** Who is told of them; absent: nobody. */
  readonly events?: BridgeEvents | undefined;
  /** Where they are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
  /** `undefined`: as many as wanted. */
  readonly cap: CallCap | undefined;
  /** `undefined`: nothing is written down. */
  readonly audit: AuditLog | undefined;
}

/** Counts the calls of one session, tells of them and has them written down. */
export class CallWatch {
  readonly #options: CallWatchOptions;
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
    const { session, events, audit, tracing } = this.#options;
    const at = Date.now();
    const startedAt = performance.now();
    const { requestId, executionId } = currentRun();
    const record = (outcome: AuditOutcome, code?: string) => {
      const ms = performance.now() - startedAt - (facts.askedMs ?? 0);
      audit?.record({ ...facts, at, session, requestId, executionId, outcome, code, ms });
      if (events?.isHeard !== true) return;
      const { server, method, tool } = facts;
      const approval = facts.approval?.answer;
      const call = { executionId, server, method, tool, outcome, code, approval };
      events.emit({ kind: "upstream-called", ...call, startedAtMs: at, durationMs: ms, ...session });
    };
    this.#admit(record);
    const made = async (span?: Span) => {
      try {
        const result = await work();
        const isError = (result as { readonly isError?: unknown }).isError === true;
        if (isError) span?.fail("tool_error");
        record(isError ? "error" : "ok");
        return result;
      } catch (error) {
        const code = error instanceof BridgeError ? error.code : "INTERNAL";
        record(OUTCOMES[code] ?? "error", code);
        throw error;
      } finally {
        describeCall(span, facts, session); // by now names are put right
      }
    };
    return await (tracing === undefined
      ? made()
      : traced(tracing, { name: facts.method, kind: "client" }, made));
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

/** By the conventions of OpenTelemetry for MCP; neither arguments nor results. */
function describeCall(
  span: Span | undefined,
  { method, server, tool, approval }: CallFacts,
  session: SessionRef,
): void {
  if (span === undefined) return;
  if (tool !== undefined) span.rename(`${method} ${tool}`);
  span.set({
    "mcp.method.name": method,
    "gen_ai.tool.name": tool,
    "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
    "service.peer.name": server,
    "sandpy.session.id": session.sessionId,
    "sandpy.execution.id": currentRun().executionId,
    "sandpy.approval": approval?.answer,
  });
}

const OUTCOMES: Readonly<Record<string, AuditOutcome>> = {
  UPSTREAM_NOT_USABLE: "refused",
  APPROVAL_DENIED: "refused",
  UPSTREAM_TIMEOUT: "timeout",
  CANCELLED: "cancelled",
};
