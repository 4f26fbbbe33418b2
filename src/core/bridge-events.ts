import { type Caller, LOCAL_CALLER } from "./caller.ts";
import { createShortId } from "./run-context.ts";

/** The session that an event is about, and whose it is. */
export interface SessionRef {
  /** For people and logs; not the handle, which is a secret. */
  readonly sessionId: string;
  readonly caller: Caller;
}

/** Names a new session. */
export function createSessionRef(caller: Caller = LOCAL_CALLER): SessionRef {
  return { sessionId: createShortId(), caller };
}

/** What happens in a bridge, as metrics, logs, traces and the dashboard want to know it. Nothing in it is secret but `code` and `text`. */
export type BridgeEvent =
  | ({ readonly kind: "session-opened" } & SessionRef)
  /** `reason` in a word or a few, such as `ended`, `expired`, `shutdown`. */
  | ({ readonly kind: "session-closed"; readonly reason: string } & SessionRef)
  | ({ readonly kind: "execution-queued"; readonly executionId: string; readonly code: string } & SessionRef)
  | ({
      readonly kind: "execution-started";
      readonly executionId: string;
      readonly waitedMs: number;
    } & SessionRef)
  | ({
      readonly kind: "execution-output";
      readonly executionId: string;
      readonly stream: "stdout" | "stderr";
      readonly text: string;
    } & SessionRef)
  | ({
      readonly kind: "execution-ended";
      readonly executionId: string;
      /** As in results, and `refused` where nothing ran. */
      readonly outcome: "ok" | "error" | "exit" | "timeout" | "cancelled" | "died" | "refused";
      /** Of the code alone, without the wait and the start of a sandbox; 0 where nothing ran. */
      readonly durationMs: number;
      /** Why nothing ran, a code of `errors.ts`; only for `refused`. */
      readonly code?: string;
    } & SessionRef)
  | ({
      readonly kind: "sandbox-started";
      readonly fromPool: boolean;
      readonly durationMs: number;
    } & SessionRef)
  | ({ readonly kind: "sandbox-stopped" } & SessionRef)
  /**
   * `cause` as in the `died` frame (`exit`, `signal`, `out_of_memory`, `reset`, `protocol`), or `ended` where the sandbox
   * went with it; one that we stopped did not die.
   */
  | ({ readonly kind: "kernel-died"; readonly cause: string } & SessionRef)
  | ({ readonly kind: "frame-rejected"; readonly reason: string } & SessionRef)
  | ({
      readonly kind: "upstream-called";
      /** `undefined`: code in the background called, between executions. */
      readonly executionId: string | undefined;
      readonly server: string;
      /** The method of the protocol. */
      readonly method: string;
      /** For `tools/call`. */
      readonly tool: string | undefined;
      /** As in the audit. */
      readonly outcome: "ok" | "error" | "refused" | "timeout" | "cancelled";
      /** Of the failure, as in the audit. */
      readonly code?: string | undefined;
      /** What the user said, or why nobody could, of a call that has to be approved; as in the audit. */
      readonly approval?: string | undefined;
      /** In milliseconds since 1970. */
      readonly startedAtMs: number;
      readonly durationMs: number;
    } & SessionRef);

/** Where events go. A listener that throws disturbs nobody. */
export interface BridgeEvents {
  emit(event: BridgeEvent): void;
  /** Returns how to stop listening. */
  listen(listener: (event: BridgeEvent) => void): () => void;
  /** Whether anybody listens: who makes an event at some cost asks first. */
  readonly isHeard: boolean;
}

/** Hands each event to every listener, at once. */
export function createBridgeEvents(onFault: (error: unknown) => void = () => undefined): BridgeEvents {
  const listeners = new Set<(event: BridgeEvent) => void>();
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (error) {
          onFault(error);
        }
      }
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    get isHeard() {
      return listeners.size > 0;
    },
  };
}
