import { type JSONRPCMessage, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/client";
import { withDeadline } from "../../core/lifecycle.ts";
import type { RawMessage } from "../messages.ts";

/** Of the ids of our own requests; the client's are numbers. */
const PREFIX = "sandpy-session-";

/** Shakes hands again as the client did, in place of a session that the server has forgotten. */
export class SessionRenewal {
  readonly #send: (message: RawMessage, signal: AbortSignal) => Promise<void>;
  readonly #deadlineMs: number;
  #initialize: RawMessage | undefined;
  #logLevel: RawMessage | undefined;
  #renewing: Promise<string> | undefined;
  #answer: { readonly id: string; resolve(message: RawMessage): void } | undefined;
  #count = 0;

  constructor(send: (message: RawMessage, signal: AbortSignal) => Promise<void>, deadlineMs: number) {
    this.#send = send;
    this.#deadlineMs = deadlineMs;
  }

  /** Notes how the client shook hands, and what else belongs to a session. */
  observe(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if (message.method === "initialize") this.#initialize = message;
    if (message.method === "logging/setLevel") this.#logLevel = message;
  }

  /** Whether `message` is an answer to a handshake of ours, which is not for the client. */
  take(message: RawMessage): boolean {
    const { id } = message;
    if ("method" in message || typeof id !== "string" || !id.startsWith(PREFIX)) return false;
    if (id === this.#answer?.id) this.#answer.resolve(message);
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
    const id = `${PREFIX}${++this.#count}`;
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
    if (this.#logLevel !== undefined) await this.#send({ ...this.#logLevel, id: `${id}-level` }, signal);
    return version;
  }
}
