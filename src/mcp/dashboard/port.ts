import type { Caller } from "../../core/caller.ts";
import type { SessionBoard } from "./session-board.ts";

export type SessionAction = "interrupt" | "reset" | "end";

/** What may be done with sessions, by the ids that events carry. Whose they are has been checked. */
export interface SessionControl {
  /** Resolves with whether there was such a session, and anything to do; rejects where it failed. */
  act(sessionId: string, action: SessionAction): Promise<boolean>;
  /** Bytes that all processes of the session's sandbox hold; `undefined` where it has none, or does not say so soon. */
  memoryBytes(sessionId: string): Promise<number | undefined>;
}

/** One server that the user's files define. */
export interface ServerHealth {
  readonly name: string;
  /** As in the `servers` answer of the frame protocol. */
  readonly status:
    | "idle"
    | "connected"
    | "failed"
    | "disabled"
    | "needs"
    | "untrusted"
    | "forbidden"
    | "self";
  /** Why it failed or is not usable. */
  readonly reason: string | null;
  /** `null` where nobody knows. */
  readonly tools: number | null;
}

/** What the dashboard shows, from the rooms that have it. */
export interface DashboardSource {
  readonly board: SessionBoard;
  /** All servers, in order of precedence. */
  servers(): Promise<readonly ServerHealth[]>;
}

/** Whose a token is, or why it is not good. `unavailable`: whoever could tell cannot be asked now. */
export type TokenOwner =
  | { readonly kind: "caller"; readonly caller: Caller }
  | { readonly kind: "unknown" | "forbidden" | "unavailable"; readonly reason: string };

/** Who may look. */
export interface DashboardAccess {
  /** Without: everybody who reaches the server is the local caller. */
  readonly isAuthRequired: boolean;
  /** Asked again with every request, so that a token that was taken back ends what it opened. */
  identify(token: string): Promise<TokenOwner>;
}
