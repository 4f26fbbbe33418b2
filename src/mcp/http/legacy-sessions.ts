import { createHash } from "node:crypto";
import type { Caller } from "../../core/caller.ts";
import type { Log } from "../../core/log.ts";
import type { ResultRooms } from "../unread-results.ts";
import type { Connect } from "./connection.ts";
import { LegacySession, type SharedServerOptions } from "./legacy-session.ts";
import { isInitialize } from "./messages.ts";
import { refuse } from "./refusal.ts";

const SESSION_HEADER = "mcp-session-id";
const NOT_FOUND = -32001;
const MAX_SWEEP_MS = 15_000;
const RETRY_AFTER_S = "30";

export interface SessionLimits {
  readonly total: number;
  readonly perCaller: number;
  /** A session that nobody uses for so long ends. */
  readonly ttlMs: number;
}

export interface LegacySessionsOptions {
  readonly connect: Connect;
  readonly server: SharedServerOptions;
  readonly limits: SessionLimits;
  readonly rooms: ResultRooms;
  /** A client begins a session: it will want a sandbox. */
  readonly onClient: () => void;
  readonly log: Log;
}

/** The sessions of clients of the revisions with `initialize`. To everybody but its caller a session does not exist. */
export class LegacySessions {
  readonly #options: LegacySessionsOptions;
  /** By the hash of the id: how long a search takes tells nothing about ids. */
  readonly #sessions = new Map<string, LegacySession>();
  readonly #sweeper: ReturnType<typeof setInterval>;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(MAX_SWEEP_MS, options.limits.ttlMs)).unref();
  }

  async handle(request: Request, caller: Caller, body: unknown): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id === null) {
      if (isInitialize(body)) return this.#open(request, caller, body);
      return refuse(
        400,
        "the header Mcp-Session-Id is missing: send initialize first, and then the id that it gave",
      );
    }
    const session = this.#sessions.get(keyOf(id));
    if (session?.caller.id !== caller.id) {
      return refuse(404, "there is no such session: send initialize for a new one", { code: NOT_FOUND });
    }
    const response = await session.handle(request, body);
    if (request.method === "DELETE" && response.ok) await this.#close(session, "deleted");
    return response;
  }

  /** Resolves when every request has its answer. */
  async idle(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.idle()));
  }

  cancel(reason: Error): void {
    for (const session of this.#sessions.values()) session.cancel(reason);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map((session) => this.#close(session, "shutdown")));
  }

  async #open(request: Request, caller: Caller, body: unknown): Promise<Response> {
    const { connect, server, rooms, log, onClient } = this.#options;
    const room = this.#makeRoom(caller);
    if (room instanceof Response) return room;
    const session = new LegacySession({ caller, connect, server, rooms });
    this.#sessions.set(keyOf(session.id), session);
    try {
      await room;
      await session.start();
      onClient();
      const response = await session.handle(request, body);
      if (!response.ok) await this.#close(session, "refused");
      else log.debug("a client began a session", { caller: caller.id });
      return response;
    } catch (error) {
      await this.#close(session, "failed");
      throw error;
    }
  }

  /** Many clients go without a word: where the limit is reached, the caller's session that was longest unused ends. */
  #makeRoom(caller: Caller): Promise<void> | Response | undefined {
    const { limits } = this.#options;
    const own = [...this.#sessions.values()].filter((session) => session.caller.id === caller.id);
    const isOwn = own.length >= limits.perCaller;
    if (!isOwn && this.#sessions.size < limits.total) return undefined;
    const [longest] = own.filter(({ isUnused }) => isUnused).sort((a, b) => b.idleMs - a.idleMs);
    if (longest !== undefined) return this.#close(longest, "displaced"); // its place is free at once
    const message = isOwn
      ? `you have ${own.length} sessions already`
      : "the server has no room for another session";
    return refuse(429, `${message}: end one by DELETE, or try again later`, {
      headers: { "retry-after": RETRY_AFTER_S },
    });
  }

  #sweep(): void {
    for (const session of this.#sessions.values()) {
      session.forgetOldEvents();
      if (session.idleMs > this.#options.limits.ttlMs) void this.#close(session, "idle");
    }
  }

  async #close(session: LegacySession, why: string): Promise<void> {
    if (!this.#sessions.delete(keyOf(session.id))) return;
    const { log } = this.#options;
    log.debug("a client's session ended", { caller: session.caller.id, why });
    await session
      .close()
      .catch((error: unknown) => log.warning("a session did not end", { error: String(error) }));
  }
}

function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
