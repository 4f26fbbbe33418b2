import type { BridgeEvent, BridgeEvents, SessionRef } from "../core/bridge-events.ts";
import { BridgeError } from "../core/errors.ts";
import { createShortId, currentRun, type RunContext, withinRun } from "../core/run-context.ts";
import { type Span, type Tracing, traced } from "../core/tracing.ts";
import type { Outcome } from "./outcome.ts";
import type { StreamName } from "./output.ts";

type EventOf<K extends BridgeEvent["kind"]> = Omit<
  Extract<BridgeEvent, { readonly kind: K }>,
  keyof SessionRef
>;

export interface ReporterPorts {
  readonly events?: BridgeEvents | undefined;
  readonly tracing?: Tracing | undefined;
}

/** Tells whoever listens what happens in one session. Costs next to nothing where nobody does. */
export class SessionReporter {
  readonly #ref: SessionRef;
  readonly #events: BridgeEvents | undefined;
  readonly #tracing: Tracing | undefined;

  constructor(ref: SessionRef, { events, tracing }: ReporterPorts) {
    this.#ref = ref;
    this.#events = events;
    this.#tracing = tracing;
  }

  /** What belongs to the session but to no execution. */
  get context(): RunContext {
    return { sessionId: this.#ref.sessionId, callerId: this.#ref.caller.id };
  }

  emit<K extends BridgeEvent["kind"]>(event: EventOf<K> & { readonly kind: K }): void {
    if (this.#events?.isHeard === true) this.#events.emit({ ...event, ...this.#ref } as BridgeEvent);
  }

  /** Has `work` done as one execution, which is told of from its queueing to its end. */
  async execution(code: string, work: (execution: ExecutionReporter) => Promise<Outcome>): Promise<Outcome> {
    const executionId = createShortId();
    const queuedAt = performance.now();
    this.emit({ kind: "execution-queued", executionId, code });
    const { sessionId, caller } = this.#ref;
    const attributes = {
      "sandpy.execution.id": executionId,
      "sandpy.session.id": sessionId,
      "user.id": caller.id,
    };
    const run = async (span: Span | undefined) => {
      try {
        const outcome = await work({
          context: currentRun(),
          started: () => {
            const waitedMs = performance.now() - queuedAt;
            this.emit({ kind: "execution-started", executionId, waitedMs });
            span?.set({ "sandpy.execution.queue_wait": waitedMs / 1000 });
          },
          output: (stream, text) => this.emit({ kind: "execution-output", executionId, stream, text }),
        });
        const { status, durationMs } = outcome;
        this.emit({ kind: "execution-ended", executionId, outcome: status, durationMs });
        span?.set({ "sandpy.execution.outcome": status, "sandpy.execution.duration": durationMs / 1000 });
        if (!isGood(outcome)) span?.fail(status);
        return outcome;
      } catch (error) {
        const reason = error instanceof BridgeError ? error.code : "INTERNAL";
        this.emit({ kind: "execution-ended", executionId, outcome: "refused", durationMs: 0, code: reason });
        throw error;
      }
    };
    return withinRun({ ...this.context, executionId }, () =>
      traced(this.#tracing, { name: "execute python", kind: "internal", attributes }, run),
    );
  }

  /** Begins to watch a sandbox that is being started. */
  sandbox(): SandboxReporter {
    const startingAt = performance.now();
    const { trace: parent } = currentRun();
    const attributes = { "sandpy.session.id": this.#ref.sessionId };
    const span =
      parent && this.#tracing?.start({ name: "start sandbox", kind: "internal", attributes, parent });
    let state: "starting" | "started" | "stopped" = "starting";
    return {
      started: (fromPool) => {
        if (state !== "starting") return;
        state = "started";
        span?.set({ "sandpy.sandbox.from_pool": fromPool });
        span?.end();
        this.emit({ kind: "sandbox-started", fromPool, durationMs: performance.now() - startingAt });
      },
      stopped: () => {
        if (state === "started") this.emit({ kind: "sandbox-stopped" });
        state = "stopped";
      },
    };
  }
}

function isGood({ status, exitCode }: Outcome): boolean {
  return status === "ok" || (status === "exit" && (exitCode ?? 0) === 0);
}

/** Tells of one execution. */
export interface ExecutionReporter {
  /** What is done for the execution is done for this. */
  readonly context: RunContext;
  started(): void;
  output(stream: StreamName, text: string): void;
}

/** Tells of one sandbox: of its end only where it was told of its start. */
export interface SandboxReporter {
  started(fromPool: boolean): void;
  stopped(): void;
}
