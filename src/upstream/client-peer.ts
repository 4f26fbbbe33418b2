/** A request or a notification of MCP, as it goes over the wire. */
export interface PeerMessage {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** How far one tool call is, in the words and numbers of its server. */
export interface PeerProgress {
  readonly server: string;
  readonly tool: string;
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** The severities of `notifications/message`, least first. */
export const LOG_SEVERITIES = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;
export type LogSeverity = (typeof LOG_SEVERITIES)[number];

/**
 * The MCP client at the other end of a session, as upstream servers may reach it. `mcp` implements it; all that comes
 * from either side is untrusted.
 */
export interface ClientPeer {
  /** The same object for all the ways to one client. */
  readonly client: object;
  /** The capabilities that the client declared, such as `roots`, `sampling` and `elicitation`; empty before it did. */
  capabilities(): Readonly<Record<string, unknown>>;
  /** The revision of MCP that it speaks, such as `2025-11-25`; `undefined` before that is settled. */
  revision(): string | undefined;
  /**
   * Passes a server's request (`roots/list`, `sampling/createMessage`, `elicitation/create`) on and gives the result.
   * Rejects with an error whose `code` is that of JSON-RPC, where the client gave one.
   */
  request(message: PeerMessage, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** Passes a notification on, such as `notifications/message`. Never rejects; one that cannot be sent is dropped. */
  notify(message: PeerMessage): void;
  /** Whether the client wants to hear how far its run is. */
  wantsProgress(): boolean;
  progress(update: PeerProgress): void;
  /** Calls `listener` whenever the client says that its roots changed. */
  onRootsChanged(listener: () => void): void;
  /** The least severity of log messages that the client asked for; `undefined`: it asked for none. */
  logSeverity(): LogSeverity | undefined;
}
