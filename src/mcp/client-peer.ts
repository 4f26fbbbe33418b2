import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  LOG_LEVEL_META_KEY,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { LOCAL_CALLER } from "../core/caller.ts";
import { MAX_TIMER_MS } from "../core/lifecycle.ts";
import type { LogLevel } from "../core/log.ts";
import type { ClientPeer, LogSeverity, PeerMessage } from "../upstream/client-peer.ts";
import { ClientRun } from "./client-run.ts";
import { RateLimit } from "./rate-limit.ts";
import { charsOf, type ToolAnswer } from "./render-result.ts";
import { type RunClient, RunPeer } from "./run-peer.ts";
import { boundSeverity } from "./severity-bound.ts";
import { SuspendedRuns } from "./suspended-runs.ts";

/** Notifications that the client has not taken yet; more are dropped. */
const MAX_UNSENT = 64;
const FIRST_MODERN_REVISION = "2026-07-28";

const resultSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null,
);

/**
 * The client of one session, as upstream servers reach it. In the revisions with `initialize` it is sent requests; in that
 * of 2026-07-28 what a server asks is the result of the call that waits, and the client calls again with the answer.
 */
export class McpClientPeer implements RunClient {
  readonly #limit = new RateLimit({ perSecond: 20, burst: 100 });
  readonly #suspended: SuspendedRuns;
  readonly #callerId: string;
  #server: McpServer | undefined;
  #capabilities: Readonly<Record<string, unknown>> | undefined;
  #severity: LogSeverity | undefined;
  #logLevel: LogLevel = "INFO";
  #onRootsChanged = () => {};
  #unsent = 0;
  #hasPinged = false;

  /** By default the client is the only one there is; over HTTP its runs are among those of others. */
  constructor(suspended = new SuspendedRuns(), callerId = LOCAL_CALLER.id) {
    this.#suspended = suspended;
    this.#callerId = callerId;
  }

  /** Makes `server` the one by which the client is reached; it gets no log messages below `logLevel`. */
  attach(server: McpServer, logLevel: LogLevel): void {
    this.#server = server;
    this.#logLevel = logLevel;
    this.#hasPinged = false;
    server.server.setRequestHandler("logging/setLevel", ({ params }) => {
      this.#severity = params.level;
      return {};
    });
    server.server.setNotificationHandler("notifications/roots/list_changed", () => this.#onRootsChanged());
  }

  /**
   * Runs a program for a request. `work` gets the run, and the client as that run reaches it; the answer is that of the
   * program, or a question to the client.
   */
  async conduct(
    context: ServerContext,
    work: (run: ClientRun, peer: ClientPeer) => Promise<ToolAnswer>,
  ): Promise<ToolAnswer | InputRequiredResult> {
    const run = new ClientRun();
    this.#learn(context);
    const waiting = Promise.withResolvers<ToolAnswer>();
    const result = this.#wait(run, waiting.promise, context);
    work(run, new RunPeer(this, run))
      .finally(() => run.end())
      .then(waiting.resolve, waiting.reject);
    this.#forgetLater(run, waiting.promise);
    return result;
  }

  /** Takes up a run that waits for the client's answer; `undefined`: there is none of this token. */
  resume(token: string, context: ServerContext): Promise<ToolAnswer | InputRequiredResult> | undefined {
    return this.#suspended.take(this.#callerId, token)?.(context);
  }

  capabilities(): Readonly<Record<string, unknown>> {
    return this.#capabilities ?? this.#server?.server.getClientCapabilities() ?? {};
  }

  revision(): string | undefined {
    return this.#server?.server.getNegotiatedProtocolVersion();
  }

  get client(): object {
    return this;
  }

  request(message: PeerMessage, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return this.requestFor(undefined, message, signal);
  }

  async requestFor(
    run: ClientRun | undefined,
    message: PeerMessage,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (this.#isModern()) {
      if (run === undefined) throw new Error("no run of the client is under way");
      return run.ask(message, signal);
    }
    if (this.#server === undefined) throw new Error("no client is connected");
    const request = {
      method: message.method,
      ...(message.params === undefined ? {} : { params: message.params }),
    };
    this.#useUpIdZero(this.#server);
    const options = { signal, timeout: MAX_TIMER_MS }; // the signal is what ends a request
    if (run?.context !== undefined) return run.context.mcpReq.send(request, resultSchema, options);
    return this.#server.server.request(request, resultSchema, options);
  }

  notify(message: PeerMessage): void {
    this.notifyFor(undefined, message);
  }

  notifyFor(run: ClientRun | undefined, { method, params }: PeerMessage): void {
    if (this.#unsent >= MAX_UNSENT || !this.#limit.take()) return;
    const notification = { method, ...(params === undefined ? {} : { params }) };
    const context = run?.context;
    if (context === undefined && this.#isModern()) return; // nothing to send it with
    this.#unsent += 1;
    const sent =
      context?.mcpReq.notify(notification) ?? this.#server?.server.notification(notification as never);
    void Promise.resolve(sent)
      .catch(() => undefined) // the connection is gone, and says so elsewhere
      .finally(() => {
        this.#unsent -= 1;
      });
  }

  /** Progress is that of a run. */
  wantsProgress(): boolean {
    return false;
  }

  progress(): void {}

  onRootsChanged(listener: () => void): void {
    this.#onRootsChanged = listener;
  }

  logSeverity(): LogSeverity | undefined {
    return this.severityFor(undefined);
  }

  severityFor(run: ClientRun | undefined): LogSeverity | undefined {
    const wanted = this.#isModern()
      ? (fromEnvelope(run?.context, LOG_LEVEL_META_KEY) as LogSeverity | undefined)
      : this.#severity;
    return wanted === undefined ? undefined : boundSeverity(wanted, this.#logLevel);
  }

  async #wait(
    run: ClientRun,
    answer: Promise<ToolAnswer>,
    context: ServerContext,
  ): Promise<ToolAnswer | InputRequiredResult> {
    const outcome = await run.waitFor(answer, context);
    if (outcome !== "asked") return outcome;
    this.#suspended.keep(this.#callerId, run.token, (next) => {
      this.#learn(next);
      run.answer(next.mcpReq.inputResponses ?? {});
      return this.#wait(run, answer, next);
    });
    if (run.isOver) this.#forgetLater(run, answer); // it ended while its last question was on its way
    return inputRequired({ inputRequests: run.questions(), requestState: run.token });
  }

  #forgetLater(run: ClientRun, answer: Promise<ToolAnswer>): void {
    const end = (made?: ToolAnswer) => {
      // Else it was never kept.
      if (run.isNamed) this.#suspended.end(this.#callerId, run.token, made === undefined ? 0 : charsOf(made));
    };
    answer.then(end, () => end());
  }

  /**
   * The SDK numbers our requests from 0, and clients by its older line (1.x) take a cancellation of request 0 for one
   * without a number and ignore it: a dialog would stay open. So a ping gets that number.
   */
  #useUpIdZero({ server }: McpServer): void {
    if (this.#hasPinged) return;
    this.#hasPinged = true;
    server.ping().catch(() => undefined); // all that matters is that it was sent
  }

  /** In the newest revision each request says anew what its client can do. */
  #learn(context: ServerContext): void {
    const declared = this.#isModern() ? fromEnvelope(context, CLIENT_CAPABILITIES_META_KEY) : undefined;
    this.#capabilities =
      typeof declared === "object" && declared !== null
        ? Object.fromEntries(Object.entries(declared))
        : undefined;
  }

  #isModern(): boolean {
    return (this.revision() ?? "") >= FIRST_MODERN_REVISION;
  }
}

/** What a request of the newest revision says beside its parameters. */
function fromEnvelope(context: ServerContext | undefined, key: string): unknown {
  return (context?.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[key];
}
