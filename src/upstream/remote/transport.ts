import {
  type AuthProvider,
  type FetchLike,
  type JSONRPCMessage,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { answerRoom } from "../../core/answer-room.ts";
import type { BridgeError } from "../../core/errors.ts";
import { withDeadline } from "../../core/lifecycle.ts";
import type { Place } from "../../core/room.ts";
import { currentRun, outsideRuns } from "../../core/run-context.ts";
import { workFor } from "../callers.ts";
import { type RawMessage, refusal } from "../messages.ts";
import type { RemoteProtocol } from "../remembered.ts";
import { ServerGone } from "../server-gone.ts";
import { withTrace } from "../trace-meta.ts";
import { guardAnswer } from "./answers.ts";
import { OversizedEvent, UnreadAnswers } from "./faults.ts";
import { ParamHeaders } from "./param-headers.ts";
import { closeSoon, type Pending } from "./pending.ts";
import { createReconnector } from "./reconnector.ts";
import { answerIn, isRefused, isSessionUnknown, withPatience } from "./refusals.ts";
import { SessionRenewal } from "./renewal.ts";
import { RequestFlow } from "./request-flow.ts";
import { type Endpoint, mediaTypeOf } from "./server-fetch.ts";
import { StandIns } from "./stand-ins.ts";

/** Tells our `fetch` which request it carries; it goes no further. */
const REQUEST_HEADER = "x-sandpy-request";
/** A notification has nobody who waits for it. */
const NOTIFICATION_MS = 30_000;
/** A server hears that a call is given up before that loses its connection, unless it takes longer. */
const CANCEL_MS = 1000;
const GOODBYE_MS = 1000;
/** Answers to a server's requests that it has not taken yet: one that asks without end would fill the memory. */
const MAX_OPEN_ANSWERS = 500;
/** From this revision on there are no sessions, and other rules for results and headers. */
const MODERN = "2026-07-28";

export interface RemoteTransportOptions {
  readonly protocol: RemoteProtocol;
  readonly endpoint: Endpoint;
  readonly fetch: FetchLike;
  readonly authProvider: AuthProvider | undefined;
  /** Milliseconds for a new session in place of one that the server has forgotten. */
  readonly renewMs: number;
  /** Turns what a request failed with into an error that names the server. */
  readonly describe: (error: unknown) => BridgeError;
  /** The server had forgotten the session, and there is a new one. */
  readonly onRenewed: () => void;
  readonly onBadText: (text: string) => void;
  /** A tool is left out, since what it wants in headers is not valid. */
  readonly onBadTool: (tool: string) => void;
  /** Told of what a request failed with, before that is described. */
  readonly note: (error: unknown) => Promise<void>;
  /** Told with which `Authorization` a request was sent. */
  readonly onAnswer: (response: Response, authorization: string | null) => void;
}

/**
 * The SDK's transports for servers that are reached by URL, with what they leave open: bodies are bounded, results keep
 * every digit, a request never waits for an answer that cannot come any more, and a session that the server has
 * forgotten is replaced once, together with a connection that was refused. Only what the server certainly did not act on
 * is sent again.
 */
export class RemoteTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when nothing goes on any more. */
  readonly ended: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  /** The newest revision cancels a request by closing its stream. */
  readonly hasPerRequestStream: boolean;
  readonly #options: RemoteTransportOptions;
  readonly #inner: StreamableHTTPClientTransport | SSEClientTransport;
  readonly #standIns = new StandIns();
  readonly #pending = new Map<string, Pending>();
  readonly #renewal: SessionRenewal;
  readonly #reconnector = createReconnector();
  readonly #paramHeaders = new ParamHeaders();
  readonly #flow = new RequestFlow();
  #openAnswers = 0;
  #isModern = false;
  #isHandshake = true;
  #isClosed = false;
  readonly #over = new AbortController();
  #fault: BridgeError | undefined;

  constructor(options: RemoteTransportOptions) {
    const { protocol, endpoint, authProvider } = options;
    this.#options = options;
    this.ended = this.#ended.promise;
    this.hasPerRequestStream = protocol === "http";
    const settings = {
      fetch: this.#fetch.bind(this),
      ...(authProvider === undefined ? {} : { authProvider }),
    };
    this.#inner =
      protocol === "sse"
        ? new SSEClientTransport(endpoint.url, settings)
        : new StreamableHTTPClientTransport(endpoint.url, {
            ...settings,
            reconnectionScheduler: this.#reconnector.schedule,
          });
    this.#renewal = new SessionRenewal(
      (message, requestSignal) => this.#deliver(message as JSONRPCMessage, { requestSignal }),
      options.renewMs,
    );
    this.#inner.onmessage = (message) =>
      this.#standIns.exchange(message as RawMessage, (real, place) => this.#receive(real, place));
    this.#inner.onerror = (error) => this.#onError(error);
    this.#inner.onclose = () => this.#onClose();
  }

  /** Why the connection ended, if it did not end because we closed it. */
  get fault(): BridgeError | undefined {
    return this.#fault;
  }

  /** From now on the client is connected: errors name the server, and a lost session is replaced. */
  finishHandshake(): void {
    this.#isHandshake = false;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  setProtocolVersion(version: string): void {
    this.#isModern = version >= MODERN; // dates sort as text
    this.#inner.setProtocolVersion(version);
  }

  async send(given: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const message = withTrace(given);
    if (this.#isClosed) throw new ServerGone("the connection is closed");
    this.#renewal.observe(message);
    if (!("method" in message) || !("id" in message)) return this.#sendOther(message, options);
    const key = JSON.stringify(message.id);
    const { id, method } = message;
    const pending: Pending = {
      id,
      method,
      abort: new AbortController(),
      claim: currentRun().claim,
      isStreamed: false,
      answerBytes: undefined,
    };
    this.#pending.set(key, pending);
    const giveUp = () => this.#giveUp(key);
    options.requestSignal?.addEventListener("abort", giveUp, { once: true });
    pending.forgetCaller = () => options.requestSignal?.removeEventListener("abort", giveUp);
    if (options.requestSignal?.aborted) giveUp();
    const post = () => this.#postRequest(message, pending, options);
    try {
      if (this.#isHandshake) return await post();
      const { signal } = pending.abort;
      if (this.hasPerRequestStream) await this.#enterFlow(pending, signal);
      await withPatience(signal, () => this.#sendInSession(message, signal, post));
    } catch (error) {
      this.#forget(key);
      if (pending.closing !== undefined) return; // it was answered
      if (this.#isHandshake) throw error;
      const answer = answerIn(error, message);
      if (answer === undefined) {
        await this.#options.note(error);
        throw this.#describe(error);
      }
      this.#receive(answer);
    }
  }

  async close(): Promise<void> {
    if (!this.#isClosed && this.#inner instanceof StreamableHTTPClientTransport) {
      const goodbye = this.#inner.terminateSession(); // a courtesy
      await withDeadline(goodbye, GOODBYE_MS, "the end of the session").catch(() => undefined);
    }
    this.kill();
  }

  /** Ends everything at once. */
  kill(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const key of [...this.#pending.keys()]) this.#giveUp(key);
    void this.#inner.close();
  }

  /** Sends a notification, or an answer to a request of the server. */
  async #sendOther(message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    if (this.#openAnswers >= MAX_OPEN_ANSWERS) {
      this.#end(this.#options.describe(new UnreadAnswers()));
      return;
    }
    const isAnswer = !("method" in message);
    if (isAnswer) this.#openAnswers += 1;
    const requestSignal = AbortSignal.timeout(NOTIFICATION_MS);
    const cancelled = "method" in message && message.method === "notifications/cancelled" && message.params;
    const giveUp = () => cancelled && this.#giveUp(JSON.stringify(cancelled["requestId"]));
    const timer = cancelled && setTimeout(giveUp, CANCEL_MS); // such calls may have all connections that there are
    try {
      await this.#deliver(message, { ...options, requestSignal });
    } finally {
      if (isAnswer) this.#openAnswers -= 1;
      if (timer) clearTimeout(timer);
      giveUp();
    }
  }

  async #sendInSession(
    message: JSONRPCMessage,
    signal: AbortSignal,
    post: () => Promise<void>,
  ): Promise<void> {
    const session = this.#sessionId;
    try {
      return await post();
    } catch (error) {
      if (session === undefined || !isSessionUnknown(error, message) || signal.aborted) throw error;
    }
    // A session that is new by now is another request's work.
    if (this.#sessionId === session) await this.#renew();
    signal.throwIfAborted();
    await post();
  }

  async #renew(): Promise<void> {
    try {
      // The new session is everybody's, and so is what the server asks in it beside the answers to requests.
      const version = await outsideRuns(() => workFor(undefined, () => this.#renewal.renew()));
      if (version === undefined) return; // another request had it done
      this.#inner.setProtocolVersion(version);
      this.#options.onRenewed();
    } catch (error) {
      // Perhaps it speaks another revision now: only a new connection finds out.
      if (!isRefused(error)) this.#end(this.#options.describe(error));
      throw error;
    }
  }

  async #postRequest(
    message: JSONRPCMessage,
    pending: Pending,
    options: TransportSendOptions,
  ): Promise<void> {
    const key = JSON.stringify(pending.id);
    if (this.#pending.get(key) !== pending) return; // answered while it waited, by a server that guessed its id
    await this.#deliver(message, {
      ...options,
      headers: { ...this.#headersOf(message), ...options.headers, [REQUEST_HEADER]: key },
      requestSignal: pending.abort.signal,
      onRequestStreamEnd: () => {
        clearTimeout(pending.closing);
        // Who looks after the end of the stream has no answer that it waits for.
        (options.onRequestStreamEnd ?? (() => this.#refuseUnanswered(key)))();
      },
    });
    if (!this.hasPerRequestStream || pending.isStreamed) return;
    clearTimeout(pending.closing);
    this.#refuseUnanswered(key);
  }

  /** By the transport that there is: the older one knows no options. */
  #deliver(message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    return (this.#inner as Transport).send(message, options);
  }

  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const key = headers.get(REQUEST_HEADER) ?? undefined;
    headers.delete(REQUEST_HEADER);
    const response = await this.#options.fetch(url, { ...init, headers });
    const pending = key === undefined ? undefined : this.#pending.get(key);
    if (pending !== undefined) pending.isStreamed = mediaTypeOf(response) === "text/event-stream";
    const guarded = await guardAnswer(response, {
      request: key,
      isHandshake: () => this.#isHandshake,
      standIns: this.#standIns,
      reader: {
        room: answerRoom,
        owner: pending?.claim?.owner ?? this,
        signal: pending?.abort.signal ?? this.#over.signal,
      },
      onBadText: this.#options.onBadText,
      onOverflow: () => this.#onOverflow(),
    });
    this.#options.onAnswer(guarded, headers.get("authorization"));
    return guarded;
  }

  /** `place` is where the message is counted; it is kept for whoever waits for it. */
  #receive(received: RawMessage, place?: Place): void {
    this.#reconnector.reset();
    let message = received;
    if ("id" in message && !("method" in message)) {
      const key = JSON.stringify(message["id"]);
      const answered = this.#pending.get(key);
      if (place !== undefined && answered !== undefined) {
        answered.claim?.hold(place);
        answered.answerBytes = place.bytes;
      } else if (answered !== undefined) answered.answerBytes = 0;
      if (this.#isModern) message = this.#complete(message, answered?.method);
      this.#forget(key);
      if (answered !== undefined && !this.#isHandshake && this.hasPerRequestStream) closeSoon(answered);
    }
    if (!this.#renewal.take(message)) this.onmessage?.(message as JSONRPCMessage);
  }

  /** A result of the newest revision, as the SDK wants it. */
  #complete(message: RawMessage, method: string | undefined): RawMessage {
    const { result } = message as { result?: RawMessage };
    if (result === undefined) return message;
    const { tools } = result;
    const isList = method === "tools/list" && Array.isArray(tools);
    const learned = isList ? { tools: this.#paramHeaders.learn(tools, this.#options.onBadTool) } : {};
    // Clients are to take a result without it for complete; the SDK refuses one.
    return { ...message, result: { resultType: "complete", ...result, ...learned } };
  }

  #headersOf(message: JSONRPCMessage): Readonly<Record<string, string>> {
    if (!this.#isModern || !("method" in message) || message.method !== "tools/call") return {};
    return this.#paramHeaders.of(message.params?.["name"], message.params?.["arguments"]);
  }

  /** The transport is done with a request and its answer did not come: whoever waits is told so. */
  #refuseUnanswered(key: string): void {
    const pending = this.#pending.get(key);
    this.#forget(key);
    if (pending === undefined || pending.abort.signal.aborted) return;
    const doubt = pending.method === "tools/call" ? ": the call may have been carried out" : "";
    const text = `the server ended its answer before the result${doubt}`;
    // What the SDK asks before `initialize` is its own to judge.
    if (this.#isHandshake && pending.method !== "initialize") this.#onError(new Error(text));
    else this.#receive(refusal(pending.id, text));
  }

  #giveUp(key: string): void {
    this.#pending.get(key)?.abort.abort();
    this.#standIns.forget(key);
    this.#forget(key);
  }

  #forget(key: string): void {
    const pending = this.#pending.get(key);
    pending?.forgetCaller?.();
    pending?.leaveFlow?.();
    this.#pending.delete(key);
  }

  async #enterFlow(pending: Pending, signal: AbortSignal): Promise<void> {
    await this.#flow.enter(signal);
    const leave = () => this.#flow.leave(pending.answerBytes);
    // Who was answered or given up while it waited is forgotten, and nobody else would give its place back.
    if (this.#pending.get(JSON.stringify(pending.id)) === pending) pending.leaveFlow = leave;
    else leave();
    signal.throwIfAborted();
  }

  #describe(error: unknown): unknown {
    const fault = this.#options.describe(error);
    // Others may still get their answers.
    if (fault.code === "UPSTREAM_UNREACHABLE" && this.#pending.size === 0) this.#end(fault);
    return fault;
  }

  #end(fault: BridgeError): void {
    if (this.#isClosed) return;
    this.#fault = fault;
    this.kill();
  }

  /** The older protocol has one stream for all answers: nobody knows whose this one was. */
  #onOverflow(): void {
    if (!this.hasPerRequestStream) this.#end(this.#options.describe(new OversizedEvent()));
  }

  #onError(error: Error): void {
    this.onerror?.(error);
    // The older protocol has one stream for all answers: without it none will come.
    if (!this.#isHandshake && error instanceof SseError) this.#end(this.#options.describe(error));
  }

  #onClose(): void {
    this.#isClosed = true;
    this.#over.abort();
    this.#standIns.forget();
    this.#reconnector.cancel();
    this.#ended.resolve();
    this.onclose?.();
  }

  get #sessionId(): string | undefined {
    return this.#inner instanceof StreamableHTTPClientTransport ? this.#inner.sessionId : undefined;
  }
}
