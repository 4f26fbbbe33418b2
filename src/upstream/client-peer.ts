/** A request or a notification of MCP, as it goes over the wire. */
export interface PeerMessage {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/**
 * The MCP client at the other end of a session, as upstream servers may reach it. `mcp` implements it; all that comes
 * from either side is untrusted.
 */
export interface ClientPeer {
  /** The capabilities that the client declared, such as `roots`, `sampling` and `elicitation`; empty before it did. */
  capabilities(): Readonly<Record<string, unknown>>;
  /** Passes a server's request (`roots/list`, `sampling/createMessage`, `elicitation/create`) on and gives the result. */
  request(message: PeerMessage, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** Passes a notification on, such as `notifications/message`. Never rejects; one that cannot be sent is dropped. */
  notify(message: PeerMessage): void;
}
