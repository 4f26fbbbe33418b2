import { type JSONRPCMessage, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/client";
import { withDeadline } from "../../core/lifecycle.ts";
import type { RawMessage } from "../messages.ts";

/** Shakes hands again as the client did, in place of a session that the server has forgotten. */
export class SessionRenewal {
  readonly #send: (message: RawMessage, signal: AbortSignal) => Promise<void>;
  readonly #deadlineMs: number;
  #initialize: RawMessage | undefined;
  #renewing: Promise<string> | undefined;
  #answer: { readonly id: string; resolve(message: RawMessage): void } | undefined;
  #count = 0;

  constructor(send: (message: RawMessage, signal: AbortSignal) => Promise<void>, deadlineMs: number) {
    this.#send = send;
    this.#deadlineMs = deadlineMs;
  }

  /** Notes how the client shook hands. */
  observe(message: JSONRPCMessage): void {
    if ("method" in message && message.method === "initialize") this.#initialize = message;
  }

  /** Whether `message` is an answer to a handshake of ours, which is not for the client. */
  take(message: RawMessage): boolean {
    if (this.#answer === undefined || message["id"] !== this.#answer.id || "method" in message) return false;
    this.#answer.resolve(message);
    return true;
  }

  /** The revision of the new session; `undefined` where another caller's renewal was waited for. */
  async renew(): Promise<string | undefined> {
    if (this.#renewing !== undefined) {
      await this.#renewing;
      return undefined;
    }
    this.#renewing = withDeadline(this.#shakeHands(), this.#deadlineMs, "a new session", "UPSTREAM_TIMEOUT");
    try {
      return await this.#renewing;
    } finally {
      this.#renewing = undefined;
      this.#answer = undefined;
    }
  }

  async #shakeHands(): Promise<string> {
    if (this.#initialize === undefined) throw new Error("the server has no sessions");
    const id = `sandpy-session-${++this.#count}`;
    const answered = Promise.withResolvers<RawMessage>();
    this.#answer = { id, resolve: answered.resolve };
    const signal = AbortSignal.timeout(this.#deadlineMs);
    await this.#send({ ...this.#initialize, id }, signal);
    const { result } = (await answered.promise) as { result?: { protocolVersion?: unknown } };
    const version = result?.protocolVersion;
    if (typeof version !== "string" || !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      throw new Error("the server refused a new session");
    }
    await this.#send({ jsonrpc: "2.0", method: "notifications/initialized" }, signal);
    return version;
  }
}
