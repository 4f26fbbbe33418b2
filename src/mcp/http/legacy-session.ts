import { randomBytes } from "node:crypto";
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../../core/caller.ts";
import { McpClientPeer } from "../client-peer.ts";
import { createServer, type ServerOptions } from "../server.ts";
import { DeafClient, OpenResults, type ResultRooms } from "../unread-results.ts";
import { type Connect, connectLate, type LateConnection } from "./connection.ts";
import { SessionEvents } from "./event-store.ts";
import { requestIds, requestsCancelled } from "./messages.ts";
import { refuse } from "./refusal.ts";
import { trackResponse } from "./track-response.ts";
import { withoutUnreadNews } from "./unread-news.ts";

const CANCELLED = -32800; // as the Language Server Protocol has it; MCP has no code of its own

/** What every server of a session is made with. */
export type SharedServerOptions = Omit<ServerOptions, "peer" | "shutdown" | "tool" | "unread">;

export interface LegacySessionOptions {
  readonly caller: Caller;
  readonly connect: Connect;
  readonly server: SharedServerOptions;
  readonly rooms: ResultRooms;
}

/** One client of the revisions with `initialize`, from that to its end: a server, its streams and its sandbox. */
export class LegacySession {
  /** 256 bits that nobody can guess; still, only the caller may use it. */
  readonly id = randomBytes(32).toString("base64url");
  readonly caller: Caller;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #connection: LateConnection;
  readonly #events = new SessionEvents();
  readonly #shutdown = new AbortController();
  readonly #peer = new McpClientPeer();
  readonly #server: SharedServerOptions;
  readonly #unread: OpenResults;
  readonly #count: (streamBytes: number) => void;
  /** The requests that have no answer yet. */
  readonly #active = new Set<RequestId>();
  readonly #onIdle = new Set<() => void>();
  #streams = 0;
  /** Those of them that are answers to requests. */
  #answers = 0;
  #usedAt = performance.now();

  constructor({ caller, connect, server, rooms }: LegacySessionOptions) {
    this.#unread = new OpenResults(rooms, caller.id);
    this.#count = (bytes) => rooms.countStream(caller.id, bytes);
    this.caller = caller;
    this.#server = server;
    this.#connection = connectLate(() => connect({ caller, peer: this.#peer, hasDefault: true }));
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      eventStore: this.#events,
    });
    const send = this.#transport.send.bind(this.#transport);
    this.#transport.send = async (message, sendOptions) => {
      if ("method" in message && "id" in message && rooms.isDeaf(caller.id)) throw new DeafClient();
      try {
        await send(message, sendOptions);
      } finally {
        const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
        if (isAnswer && message.id !== undefined) this.#answered(message.id);
      }
    };
  }

  async start(): Promise<void> {
    const server = createServer(this.#connection.runner, {
      ...this.#server,
      peer: this.#peer,
      shutdown: this.#shutdown.signal,
      unread: this.#unread,
    });
    await server.connect(this.#transport);
  }

  /** How long nobody has used it, in milliseconds; 0 while a request or a stream is open. */
  get idleMs(): number {
    return this.#streams > 0 || this.#active.size > 0 ? 0 : performance.now() - this.#usedAt;
  }

  /** Nobody would miss more than the handshake: nothing has run, and no stream is open. */
  get isUnused(): boolean {
    return this.idleMs > 0 && !this.#connection.isMade;
  }

  async handle(request: Request, body: unknown): Promise<Response> {
    const ids = requestIds(body);
    const repeated = ids.find((id, at) => this.#active.has(id) || ids.indexOf(id) !== at);
    if (repeated !== undefined) {
      return refuse(400, `a request with the id ${JSON.stringify(repeated)} is under way already`, {
        code: -32600,
      });
    }
    const answers = ids.length > 0 ? 1 : 0;
    this.#streams += 1;
    this.#answers += answers;
    for (const id of ids) this.#active.add(id);
    const read = ids.map((id) => this.#unread.begin(id));
    const leave = () => {
      this.#streams -= 1;
      this.#answers -= answers;
      for (const tell of read) tell();
      this.#usedAt = performance.now();
      this.#tellIfIdle();
    };
    const response = await this.#transport
      .handleRequest(request, body === undefined ? {} : { parsedBody: body })
      .catch((error: unknown) => {
        leave();
        for (const id of ids) this.#answered(id);
        throw error;
      });
    if (!response.ok) for (const id of ids) this.#answered(id);
    else for (const id of requestsCancelled(body)) await this.#endCancelled(id);
    return trackResponse(withoutUnreadNews(response, this.#count), leave);
  }

  /** Lets go of what was sent so long ago that no client comes back for it. */
  forgetOldEvents(): void {
    this.#events.dropOld();
  }

  /** Resolves when every request has its answer, and its client has taken that, or has gone. */
  async idle(): Promise<void> {
    while (this.#active.size > 0 || this.#answers > 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#onIdle.delete(done);
          resolve();
        };
        this.#onIdle.add(done);
      });
    }
  }

  /** Cancels what runs; it still gets an answer. */
  cancel(reason: Error): void {
    this.#shutdown.abort(reason);
  }

  /** Ends the streams, what runs, and the sandbox. */
  async close(): Promise<void> {
    this.#shutdown.abort();
    await this.#transport.close();
    await this.#connection.close();
  }

  #answered(id: RequestId): void {
    this.#active.delete(id);
    this.#usedAt = performance.now();
    this.#tellIfIdle();
  }

  #tellIfIdle(): void {
    if (this.#active.size === 0 && this.#answers === 0) for (const tell of this.#onIdle) tell();
  }

  /**
   * To a request that was taken back the SDK gives no answer, so that its stream would stay open until the session ends; a
   * client that is only cut off would ask for the rest. An answer is what ends it; clients ignore it.
   */
  async #endCancelled(id: RequestId): Promise<void> {
    if (!this.#active.has(id)) return;
    const error = { code: CANCELLED, message: "the request was cancelled" };
    await this.#transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined); // it had ended
  }
}
