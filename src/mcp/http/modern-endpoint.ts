import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/caller.ts";
import type { Log } from "../../core/log.ts";
import { McpClientPeer } from "../client-peer.ts";
import { ListedTool, NO_SERVERS } from "../listed-tool.ts";
import { createServer } from "../server.ts";
import { SuspendedRuns } from "../suspended-runs.ts";
import { OpenResults, type ResultRooms } from "../unread-results.ts";
import { type Connect, connectEach } from "./connection.ts";
import type { SharedServerOptions } from "./legacy-session.ts";
import { methodOf, requestIds } from "./messages.ts";
import { trackResponse } from "./track-response.ts";
import { withoutUnreadNews } from "./unread-news.ts";

const MAX_SUBSCRIPTIONS = 256;

export interface ModernEndpointOptions {
  readonly connect: Connect;
  readonly server: SharedServerOptions;
  readonly rooms: ResultRooms;
  readonly log: Log;
}

/**
 * Serves the revision of 2026-07-28, in which every request stands for itself: it gets a server of its own, and what is
 * to outlive it (a run that waits for an answer, the list of tools as clients saw it) is kept here.
 */
export class ModernEndpoint {
  readonly #asked = new WeakMap<Request, { readonly caller: Caller; readonly unread: OpenResults }>();
  readonly #rooms: ResultRooms;
  readonly #suspended = new SuspendedRuns();
  readonly #shutdown = new AbortController();
  readonly #handler: ReturnType<typeof createMcpHandler>;
  readonly #tool: ListedTool;
  readonly #open = new Set<Promise<void>>();

  constructor({ connect, server, rooms, log }: ModernEndpointOptions) {
    this.#rooms = rooms;
    this.#tool = new ListedTool(server.servers ?? NO_SERVERS, () => this.#handler.notify.toolsChanged());
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const asked = requestInfo && this.#asked.get(requestInfo);
        if (asked === undefined) throw new Error("a request came without a caller");
        const { caller, unread } = asked;
        const peer = new McpClientPeer(this.#suspended, caller.id);
        const runner = connectEach(() => connect({ caller, peer, hasDefault: false }));
        const shutdown = this.#shutdown.signal;
        return createServer(runner, { ...server, peer, tool: this.#tool, shutdown, unread });
      },
      {
        legacy: "reject",
        maxSubscriptions: MAX_SUBSCRIPTIONS,
        onerror: (error) => log.debug("protocol error", { error: error.message }),
      },
    );
  }

  async handle(request: Request, caller: Caller, body: unknown): Promise<Response> {
    const unread = new OpenResults(this.#rooms, caller.id);
    const read = requestIds(body).map((id) => unread.begin(id));
    this.#asked.set(request, { caller, unread });
    const response = this.#handler.fetch(request, body === undefined ? {} : { parsedBody: body });
    if (methodOf(body) === "subscriptions/listen") return response; // it lasts as long as the client wants
    const ended = Promise.withResolvers<void>();
    this.#open.add(ended.promise);
    const end = () => {
      this.#open.delete(ended.promise);
      for (const tell of read) tell();
      ended.resolve();
    };
    return response.then(
      (made) => trackResponse(withoutUnreadNews(made), end),
      (error: unknown) => {
        end();
        throw error;
      },
    );
  }

  /** Resolves when every request has its answer. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  /** Cancels what runs; it still gets an answer. */
  cancel(reason: Error): void {
    this.#shutdown.abort(reason);
  }

  async close(): Promise<void> {
    this.#shutdown.abort();
    this.#tool.close();
    await this.#handler.close();
  }
}
