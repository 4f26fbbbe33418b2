import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import { LineSplitter } from "../core/lines.ts";
import { type LineRefusal, parseLine, refuse, refuseLongLine } from "./json-line.ts";
import { DeafClient, type UnreadResults } from "./unread-results.ts";

/** A 10 MB program fits, even where JSON escapes every character of it. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** With this much unsent, no more input is read: a client that does not read its replies cannot make us hold more. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;
/** Beyond it, images of results are left out, since runs of several sessions can end at the same time, and nothing is asked. */
const MAX_EVER_BACKLOG_BYTES = 64 * 1024 * 1024;
/** After so much, timers and signals get their turn: input that never pauses, such as a device, would leave them none. */
const TURN_BYTES = 1024 * 1024;
/** What is read makes garbage several times its size, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 * 1024;
const INVALID_REQUEST = -32600;
const SHUTTING_DOWN = -32000;

/** The streams of a {@link LineTransport} and what it tells its owner. */
export interface LineTransportOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Input has ended; everything before was delivered. */
  readonly onInputEnd: () => void;
  /** The peer has closed our output: nobody reads replies any more. */
  readonly onOutputClosed: () => void;
  readonly onDropped: (reason: string) => void;
}

/**
 * JSON-RPC messages as lines over a pair of streams. Unlike the SDK's own transport it survives input that is no
 * message, reports the end of input without closing, and knows which requests still wait for their reply.
 */
export class LineTransport implements Transport, UnreadResults {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #options: LineTransportOptions;
  readonly #splitter = new LineSplitter(MAX_LINE_BYTES);
  readonly #unanswered = new Set<string | number>();
  readonly #waiters = new Set<{ readonly condition: () => boolean; readonly resolve: () => void }>();
  #backlogBytes = 0;
  #bytesThisTurn = 0;
  #uncollectedBytes = 0;
  #outputClosed = false;
  #closed = false;

  constructor(options: LineTransportOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.#options;
    stdout.on("error", this.#closeOutput).on("close", this.#closeOutput);
    stdin.on("end", this.#endInput).on("close", this.#endInput).on("error", this.#endInput);
    stdin.on("data", this.#read).resume(); // whoever saw that there is input has paused it
    if (stdin.readableEnded || stdin.destroyed) setImmediate(this.#endInput);
  }

  /** Takes no further messages. The replies still owed can be sent. */
  stopReading(): void {
    const { stdin } = this.#options;
    stdin.off("data", this.#read).off("end", this.#endInput).off("close", this.#endInput);
    stdin.pause();
  }

  /** Resolves when every request that arrived has been answered or cancelled. */
  answered(): Promise<void> {
    return this.#when(() => this.#unanswered.size === 0);
  }

  /** Resolves when the client has all that we wrote. */
  flushed(): Promise<void> {
    return this.#when(() => this.#backlogBytes === 0);
  }

  /** What was written and not taken counts. */
  ready(until: AbortSignal): Promise<void> {
    return this.#when(() => until.aborted || this.#backlogBytes <= MAX_BACKLOG_BYTES, until);
  }

  hold(_id: RequestId, chars: number): boolean {
    return this.#backlogBytes === 0 || this.#backlogBytes + chars <= MAX_EVER_BACKLOG_BYTES;
  }

  /** Answers what is still unanswered with an error. */
  abandonRequests(): void {
    for (const id of this.#unanswered) {
      void this.#reply(refuse(id, SHUTTING_DOWN, "Cancelled: the server is shutting down").reply);
    }
    this.#unanswered.clear();
    this.#wake();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const isQuestion = "method" in message && "id" in message;
    if (isQuestion && this.#backlogBytes > MAX_EVER_BACKLOG_BYTES) return Promise.reject(new DeafClient());
    const isReply = !("method" in message) && message.id !== undefined;
    const written = this.#reply(message);
    if (isReply) this.#settle(message.id as string | number);
    return written;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.stopReading();
    this.onclose?.();
  }

  readonly #read = (chunk: Uint8Array): void => {
    for (const line of this.#splitter.push(chunk)) {
      if (line.kind === "overflow") void this.#reply(refuseLongLine(line.maxBytes));
      else this.#take(line.bytes);
    }
    this.#bytesThisTurn += chunk.length;
    if (this.#bytesThisTurn < TURN_BYTES) return;
    this.#collect();
    this.#bytesThisTurn = 0;
    this.#options.stdin.pause();
    setTimeout(this.#resume, 0);
  };

  #collect(): void {
    this.#uncollectedBytes += this.#bytesThisTurn;
    if (this.#uncollectedBytes < COLLECT_BYTES) return;
    this.#uncollectedBytes = 0;
    Bun.gc(true);
  }

  /** Reads on, where there is nothing against it. */
  readonly #resume = (): void => {
    const { stdin } = this.#options;
    if (this.#backlogBytes <= MAX_BACKLOG_BYTES && stdin.listeners("data").includes(this.#read))
      stdin.resume();
  };

  #take(bytes: Uint8Array): void {
    const parsed = parseLine(bytes);
    switch (parsed.kind) {
      case "message":
        this.#deliver(parsed.message);
        break;
      case "refused":
        void this.#reply(parsed.reply);
        break;
      case "dropped":
        this.#options.onDropped(parsed.reason);
        break;
      case "blank":
        break;
    }
  }

  #deliver(message: JSONRPCMessage): void {
    if ("method" in message) {
      // A subscription is answered when it ends, so nothing waits for it.
      if ("id" in message && message.method !== "subscriptions/listen") {
        if (this.#unanswered.has(message.id)) {
          const why = `Invalid Request: id ${JSON.stringify(message.id)} still waits for its reply`;
          void this.#reply(refuse(message.id, INVALID_REQUEST, why).reply);
          return;
        }
        this.#unanswered.add(message.id);
      }
      // A cancelled request is never answered.
      if (message.method === "notifications/cancelled") this.#settle(message.params?.["requestId"]);
    }
    this.onmessage?.(message);
  }

  #settle(id: unknown): void {
    this.#unanswered.delete(id as string | number);
    this.#wake();
  }

  /** Resolves when the stream wants more; replies to a peer that has gone are dropped. */
  #reply(message: JSONRPCMessage | LineRefusal): Promise<void> {
    if (this.#outputClosed) return Promise.resolve();
    const { stdin, stdout } = this.#options;
    const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
    this.#backlogBytes += bytes.length;
    if (this.#backlogBytes > MAX_BACKLOG_BYTES) stdin.pause();
    return new Promise((resolve) => {
      const taken = stdout.write(bytes, () => {
        this.#backlogBytes -= bytes.length;
        this.#resume();
        resolve();
        this.#wake();
      });
      if (taken) resolve();
    });
  }

  #when(condition: () => boolean, until?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.add({ condition, resolve });
      until?.addEventListener("abort", () => this.#wake(), { once: true });
      this.#wake();
    });
  }

  /** Where nobody reads our output, there is nothing left to wait for. */
  #wake(): void {
    for (const waiter of this.#waiters) {
      if (!this.#outputClosed && !waiter.condition()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  readonly #endInput = (): void => {
    // A last line without its newline is still a message.
    this.#read(Buffer.from("\n"));
    this.stopReading();
    this.#options.onInputEnd();
  };

  readonly #closeOutput = (): void => {
    if (this.#outputClosed) return;
    this.#outputClosed = true;
    this.#wake();
    this.#options.onOutputClosed();
  };
}
