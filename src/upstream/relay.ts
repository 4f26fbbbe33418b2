import { type Client, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import { BridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { limitTime } from "./abort.ts";
import type { Caller, Callers } from "./callers.ts";
import { type ClientPeer, LOG_SEVERITIES, type LogSeverity, type PeerMessage } from "./client-peer.ts";
import type { Mask } from "./mask.ts";
import { isWebAddress, plainForm, plainText } from "./relayed-text.ts";

/** Requests of one server that wait for the client at once; each may be a dialog in front of a person. */
const MAX_OPEN = 8;
/** A client that forgets a request must not hold it for ever; a person needs minutes at most. */
const MAX_ANSWER_MS = 15 * 60_000;
const MAX_MESSAGE_CHARS = 10_000;
/** Of one request, as JSON: a form for a person, or what a model is to read, which may have images in it. */
const MAX_FORM_CHARS = 64 * 1024;
const MAX_SAMPLING_CHARS = 8 * 1024 ** 2;
const MAX_LOGGER_CHARS = 200;
const MAX_ELICITATION_ID_CHARS = 1024;

/** The requests of servers that a client can answer, and the capability by which it says that it can. */
const RELAYED = {
  "roots/list": "roots",
  "sampling/createMessage": "sampling",
  "elicitation/create": "elicitation",
} as const;
type RelayedMethod = keyof typeof RELAYED;
type RelayedMessage = PeerMessage & { readonly method: RelayedMethod };

/** The parameters of `notifications/message`. */
interface LogMessage {
  readonly level: LogSeverity;
  readonly logger?: string | undefined;
  readonly data: unknown;
}

export interface RelayOptions {
  /** The server's name, which the client's user is to see. */
  readonly server: string;
  readonly callers: Callers;
  /** The server answers each request by a stream of its own, in which it asks what it needs for that: not over stdio. */
  readonly hasStreams: boolean;
  /** The clients of all sessions. */
  readonly peers: ReadonlySet<ClientPeer>;
  readonly log: Log;
}

/**
 * What one server asks of its client and tells it, passed on to ours. A server is shared: its request belongs to the
 * call in whose answer it comes. Where that is not to be seen, as in the revisions with `initialize` over stdio, it belongs
 * to the client whose calls are under way, and is refused when that is not exactly one; roots, and notifications, may also
 * go to the only client that there is. The answer is given up when those calls end.
 */
export class Relay {
  readonly #options: RelayOptions;
  #open = 0;
  #severity: LogSeverity | undefined;
  #tellsRoots = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Declares what our clients can do and answers for them; before `client` connects. */
  attach(client: Client, mask: Mask): void {
    const capabilities = allCapabilities(this.#options.peers);
    client.registerCapabilities(capabilities);
    this.#tellsRoots = capabilities["roots"]?.["listChanged"] === true;
    for (const method of Object.keys(RELAYED) as RelayedMethod[]) {
      if (!(RELAYED[method] in capabilities)) continue; // the SDK refuses it as a method that does not exist
      client.setRequestHandler(
        method,
        async (request, context) =>
          this.#answer(
            { method, ...(request.params === undefined ? {} : { params: request.params }) },
            context.mcpReq.signal,
            this.#options.hasStreams || client.getProtocolEra() === "modern"
              ? this.#options.callers.current()
              : undefined,
          ) as never, // judged by the server that asked, as the client gave it
      );
    }
    client.setNotificationHandler("notifications/message", ({ params }) => this.#passLog(params, mask));
    client.setNotificationHandler("notifications/elicitation/complete", ({ method, params }) => {
      const { elicitationId } = params; // nothing else has a meaning
      if (elicitationId.length > MAX_ELICITATION_ID_CHARS) return;
      this.#addressee()?.notify({ method, params: { elicitationId } });
    });
  }

  /** Tells the server that the roots of a client changed, if it was told that this would happen. */
  rootsChanged(client: Client): void {
    if (!this.#tellsRoots || client.getProtocolEra() === "modern") return; // there it asks each time
    client.sendRootsListChanged().catch(() => undefined); // it is gone: it asks anew when it is back
  }

  /** Asks the server for log messages of the severity that the client of a call wants, where the server knows of that. */
  wantLogs(client: Client, peer: ClientPeer | undefined): void {
    const wanted = peer?.logSeverity();
    if (wanted === undefined || client.getServerCapabilities()?.logging === undefined) return;
    // Shared: the most talkative wish counts, and each client gets what it asked for.
    if (this.#severity !== undefined && severityOf(this.#severity) <= severityOf(wanted)) return;
    this.#severity = wanted;
    if (client.getProtocolEra() === "modern") return; // said with each request instead
    client.setLoggingLevel(wanted).catch((error: unknown) =>
      this.#options.log.debug("server refused a log level", {
        server: this.#options.server,
        error: String(error),
      }),
    );
  }

  async #answer(message: RelayedMessage, asked: AbortSignal, caller: Caller | undefined): Promise<unknown> {
    const { server, log, callers } = this.#options;
    const peer =
      caller === undefined ? (callers.onlyPeer() ?? this.#onlyPeerFor(message.method)) : caller.peer;
    const refusal = this.#whyNot(message, peer);
    if (peer === undefined || refusal !== undefined) {
      log.debug("refused a request of a server", { server, method: message.method, reason: refusal });
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, refusal ?? "");
    }
    this.#open += 1;
    // Without a call under way nothing ends the wait but its limit.
    const calls = callers.untilOver(caller);
    const either = AbortSignal.any([asked, calls.signal]);
    const { signal, release } = limitTime(either, MAX_ANSWER_MS, () => notAnswered(message.method));
    try {
      return await peer.request(named(server, message), signal);
    } catch (error) {
      throw toProtocolError(error, message.method);
    } finally {
      release();
      calls.release();
      this.#open -= 1;
    }
  }

  #whyNot(message: RelayedMessage, peer: ClientPeer | undefined): string | undefined {
    if (peer === undefined) {
      return `${message.method} cannot be passed on: it is not clear which client it is for; ask during a call`;
    }
    const missing = missingCapability(message, peer.capabilities());
    if (missing !== undefined) return `the client of this call does not support ${missing}`;
    if (message.method === "elicitation/create" && message.params?.["mode"] === "url") {
      if (!isWebAddress(message.params["url"])) return "the address to open is none of the web";
    }
    const maxChars = message.method === "sampling/createMessage" ? MAX_SAMPLING_CHARS : MAX_FORM_CHARS;
    if (JSON.stringify(message.params ?? {}).length > maxChars)
      return `it has more than ${maxChars} characters`;
    if (this.#open >= MAX_OPEN) return `${MAX_OPEN} requests wait for the client already`;
    return undefined;
  }

  #onlyPeerFor(method: RelayedMethod): ClientPeer | undefined {
    const [peer, ...others] = this.#options.peers;
    // Where nobody calls, nobody expects to be asked anything; roots disturb no person.
    if (method !== "roots/list" || peer === undefined || others.length > 0) return undefined;
    return this.#options.callers.count > 0 ? undefined : peer;
  }

  #addressee(): ClientPeer | undefined {
    const [peer, ...others] = this.#options.peers;
    return this.#options.callers.onlyPeer() ?? (others.length === 0 ? peer : undefined);
  }

  #passLog({ level, logger, data }: LogMessage, mask: Mask): void {
    const { server, log } = this.#options;
    const text = textOf(data);
    const masked = mask(text);
    log.debug("log message of server", { server, severity: level, data: masked });
    const peer = this.#addressee();
    const wanted = peer?.logSeverity();
    if (peer === undefined || wanted === undefined || severityOf(level) < severityOf(wanted)) return;
    const whole = masked === text && text.length <= MAX_MESSAGE_CHARS;
    peer.notify({
      method: "notifications/message",
      params: {
        level,
        logger: logger === undefined ? server : `${server}: ${logger.slice(0, MAX_LOGGER_CHARS)}`,
        data: whole ? data : shorten(masked),
      },
    });
  }
}

/** All that any of them can do: for a client that cannot, a request is refused when it comes. */
function allCapabilities(peers: ReadonlySet<ClientPeer>): Record<string, Record<string, unknown>> {
  const merged: Record<string, Record<string, unknown>> = {};
  for (const peer of peers) {
    const declared = peer.capabilities();
    for (const name of Object.values(RELAYED)) {
      const own = declared[name];
      if (typeof own !== "object" || own === null) continue;
      merged[name] = { ...merged[name], ...own };
    }
  }
  return merged;
}

/** What the client would have to declare to be asked this, if it did not. */
function missingCapability(
  { method, params = {} }: RelayedMessage,
  declared: Readonly<Record<string, unknown>>,
): string | undefined {
  const name = RELAYED[method];
  const own = declared[name];
  if (typeof own !== "object" || own === null) return name;
  const parts = own as Readonly<Record<string, unknown>>;
  if (method === "elicitation/create" && params["mode"] === "url" && parts["url"] === undefined)
    return "elicitation by URL";
  const needsTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
  if (method === "sampling/createMessage" && needsTools && parts["tools"] === undefined)
    return "sampling with tools";
  return undefined;
}

/** A person must see who asks: to their client it is always us. */
function named(server: string, message: PeerMessage): PeerMessage {
  if (message.params === undefined) return message;
  const { _meta, ...params } = message.params; // its tokens belong to the other connection
  if (message.method !== "elicitation/create") return { ...message, params };
  const text = typeof params["message"] === "string" ? shorten(compact(plainText(params["message"]))) : "";
  const { requestedSchema } = params;
  const form = requestedSchema === undefined ? {} : { requestedSchema: plainForm(requestedSchema) };
  return { ...message, params: { ...params, ...form, message: `[${plainText(server)}] ${text}` } };
}

/** Without the room that would push the server's name out of sight. */
function compact(text: string): string {
  return text.replace(/\n\s*\n/g, "\n\n").trim();
}

function notAnswered(method: string): BridgeError {
  return new BridgeError(
    "UPSTREAM_TIMEOUT",
    `the client did not answer ${method} within ${MAX_ANSWER_MS / 60_000} min`,
  );
}

function toProtocolError(error: unknown, method: string): ProtocolError {
  const { code, data } = error as { readonly code?: unknown; readonly data?: unknown };
  const text = error instanceof Error ? error.message : String(error);
  if (typeof code === "number") return new ProtocolError(code, text, data);
  return new ProtocolError(ProtocolErrorCode.InternalError, `${method} was not answered: ${text}`);
}

function severityOf(level: LogSeverity): number {
  return LOG_SEVERITIES.indexOf(level);
}

function textOf(data: unknown): string {
  return typeof data === "string" ? data : (JSON.stringify(data) ?? "");
}

function shorten(text: string): string {
  return text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS).toWellFormed()}…`;
}
