import { ProtocolError, type Transport } from "@modelcontextprotocol/client";
import { BridgeError } from "../../core/errors.ts";
import { createClient } from "../client.ts";
import type { Connection, ConnectOptions } from "../connect.ts";
import { correctionHint, type RemoteDefinition } from "../definitions.ts";
import { createMask, excerpt } from "../mask.ts";
import { createAccess } from "../oauth/access.ts";
import type { Finding, RemoteProtocol } from "../remembered.ts";
import { describeRemoteFault, statusOf } from "./faults.ts";
import { BadEndpoint, createServerFetch, type Endpoint, parseEndpoint } from "./server-fetch.ts";
import { RemoteTransport } from "./transport.ts";

const MAX_QUOTE = 200;
/** Statuses of a server that is there and has another reason than its transport not to talk to us. */
const NOT_ABOUT_TRANSPORT = [401, 403, 407, 408, 429];

/**
 * Reaches a server by URL and shakes hands with it. Where the definition does not say how, streamable HTTP is tried
 * first and the older HTTP+SSE after a 4xx, as the specification advises; what worked comes first the next time. So does
 * the era: a server that is known to speak only `initialize` is not asked by `server/discover` first for a day.
 */
export async function connectRemote(
  definition: RemoteDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const { fingerprint, transport } = definition;
  const { remembered, log } = options;
  const known = await remembered.find(fingerprint);
  const attempt = createAttempt(definition, options, signal);
  let first: BridgeError | undefined;
  for (const finding of waysOf(transport.protocol, known)) {
    try {
      const connection = await attempt(finding);
      const protocol = transport.protocol === "auto" ? finding.protocol : undefined;
      await remembered.keep(fingerprint, { era: connection.client.getProtocolEra(), protocol });
      return connection;
    } catch (error) {
      if (!(error instanceof ConnectFault)) throw error;
      first ??= error.fault;
      if (!error.isRefusal || signal.aborted) break;
      log.debug("server refused one way to talk to it", { server: definition.name, ...finding });
    }
  }
  await remembered.keep(fingerprint, undefined);
  throw first;
}

/** The ways to talk to a server, most likely first; without an era it is asked. */
function waysOf(
  wanted: RemoteProtocol | "auto",
  known: Finding,
): readonly (Finding & { protocol: RemoteProtocol })[] {
  const [one, other]: readonly [RemoteProtocol, RemoteProtocol?] =
    wanted !== "auto" ? [wanted] : known.protocol === "sse" ? ["sse", "http"] : ["http", "sse"];
  const ways = known.era === "legacy" ? [{ protocol: one, era: known.era }] : [];
  return [
    ...ways,
    { protocol: one, era: undefined },
    ...(other === undefined ? [] : [{ protocol: other, era: undefined }]),
  ];
}

/** A connection that could not be made. */
class ConnectFault extends Error {
  readonly fault: BridgeError;
  /** The server is there, and may well answer to another way of talking to it. */
  readonly isRefusal: boolean;

  constructor(fault: BridgeError, cause: unknown) {
    super(fault.message);
    this.fault = fault;
    const status = statusOf(cause) ?? 0;
    const isRefused = status >= 400 && status < 500 && !NOT_ABOUT_TRANSPORT.includes(status);
    this.isRefusal = isRefused || cause instanceof ProtocolError;
  }
}

function createAttempt(
  definition: RemoteDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): (way: Finding & { readonly protocol: RemoteProtocol }) => Promise<Connection> {
  const { name } = definition;
  const { log, connectMs, prepare } = options;
  const correction = correctionHint(definition, options.env["HOME"]);
  const endpoint = readEndpoint(definition, correction);
  const access = createAccess(definition, endpoint, options);
  const mask = (text: string) => createMask([...endpoint.secrets, ...access.secrets()])(text);
  const { signInHint } = access;
  const context = { server: name, shown: endpoint.shown, correction, mask, signInHint };
  const describe = (error: unknown) => describeRemoteFault(error, context);

  return async ({ protocol, era }) => {
    const { client, toolsChanged, onToolsChanged } = createClient({
      mode: "auto",
      server: name,
      log,
      mask,
      prepare,
    });
    const transport = new RemoteTransport({
      protocol,
      endpoint,
      fetch: createServerFetch(endpoint),
      authProvider: access.provider,
      onAnswer: access.noteUse,
      note: access.note,
      onBadTool: (tool) =>
        log.warning("a tool wants arguments in headers in a way that is not valid, and is left out", {
          server: name,
          tool,
        }),
      renewMs: connectMs,
      describe,
      onRenewed: () => {
        log.info("server had forgotten the session, which is a new one now", { server: name });
        toolsChanged();
      },
      onBadText: (text) =>
        log.debug("server sent what is no message", { server: name, text: excerpt(text, mask, MAX_QUOTE) }),
    });
    const killable = { ended: transport.ended, kill: () => transport.kill() };
    options.onStart(killable);
    const stop = () => transport.kill();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const prior = protocol === "sse" || era === "legacy" ? { prior: { kind: "legacy" as const } } : {};
      await client.connect(transport as Transport, { signal, timeout: connectMs, ...prior });
      signal.throwIfAborted();
    } catch (error) {
      transport.kill();
      await access.note(error);
      throw new ConnectFault(
        signal.aborted ? describeLate(signal, definition, connectMs) : describe(error),
        error,
      );
    } finally {
      signal.removeEventListener("abort", stop);
    }
    transport.finishHandshake();
    client.setNotificationHandler("notifications/tools/list_changed", toolsChanged);
    return {
      ...killable,
      client,
      mask,
      pid: null,
      onToolsChanged,
      endError: () =>
        transport.fault ??
        new BridgeError("UPSTREAM_FAILED", `server ${JSON.stringify(name)} was disconnected`, {
          data: { server: name },
        }),
      close: () => transport.close(),
    };
  };
}

function readEndpoint({ name, transport: { url, headers } }: RemoteDefinition, correction: string): Endpoint {
  try {
    return parseEndpoint(url, headers);
  } catch (error) {
    if (!(error instanceof BadEndpoint)) throw error;
    throw new BridgeError("UPSTREAM_UNREACHABLE", `server ${JSON.stringify(name)} ${error.message}`, {
      hint: correction,
      data: { server: name },
    });
  }
}

function describeLate(signal: AbortSignal, { name }: RemoteDefinition, connectMs: number): BridgeError {
  if (signal.reason instanceof BridgeError) return signal.reason;
  const message = `server ${JSON.stringify(name)} did not answer within ${connectMs / 1000} s`;
  return new BridgeError("UPSTREAM_TIMEOUT", message, { hint: "Try again later.", data: { server: name } });
}
