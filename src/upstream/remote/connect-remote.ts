import type { Transport } from "@modelcontextprotocol/client";
import { BridgeError } from "../../core/errors.ts";
import { createClient } from "../client.ts";
import type { Connection, ConnectOptions } from "../connect.ts";
import { correctionHint, type RemoteDefinition } from "../definitions.ts";
import { createMask } from "../mask.ts";
import { createAccess } from "../oauth/access.ts";
import { describeRemoteFault, statusOf } from "./faults.ts";
import { BadEndpoint, createServerFetch, type Endpoint, parseEndpoint } from "./server-fetch.ts";
import { type RemoteProtocol, RemoteTransport } from "./transport.ts";

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
  const { protocol } = definition.transport;
  const { protocols } = options.remembered;
  const attempt = createAttempt(definition, options, signal);
  if (protocol !== "auto") return attempt(protocol).catch(throwFault);
  const first = protocols.get(definition.fingerprint) ?? "http";
  const second = first === "http" ? "sse" : "http";
  try {
    return await attempt(first);
  } catch (error) {
    if (!(error instanceof ConnectFault) || !error.isOtherTransport) return throwFault(error);
    options.log.debug("server refused one transport, trying the other", { server: definition.name, second });
    const connection = await attempt(second).catch(() => throwFault(error));
    protocols.set(definition.fingerprint, second);
    return connection;
  }
}

/** A connection that could not be made. */
class ConnectFault extends Error {
  readonly fault: BridgeError;
  /** The server may well speak the other transport. */
  readonly isOtherTransport: boolean;

  constructor(fault: BridgeError, status: number | undefined) {
    super(fault.message);
    this.fault = fault;
    this.isOtherTransport =
      status !== undefined && status >= 400 && status < 500 && !NOT_ABOUT_TRANSPORT.includes(status);
  }
}

function throwFault(error: unknown): never {
  throw error instanceof ConnectFault ? error.fault : error;
}

function createAttempt(
  definition: RemoteDefinition,
  options: ConnectOptions,
  signal: AbortSignal,
): (protocol: RemoteProtocol) => Promise<Connection> {
  const { name, fingerprint } = definition;
  const { log, connectMs, prepare } = options;
  const { eras } = options.remembered;
  const correction = correctionHint(definition, options.env["HOME"]);
  const endpoint = readEndpoint(definition, correction);
  const access = createAccess(definition, endpoint, options);
  const mask = (text: string) => createMask([...endpoint.secrets, ...access.secrets()])(text);
  const { signInHint } = access;
  const context = { server: name, shown: endpoint.shown, correction, mask, signInHint };
  const describe = (error: unknown) => describeRemoteFault(error, context);

  return async (protocol) => {
    const { client, ended, toolsChanged, onToolsChanged } = createClient({
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
        log.debug("server sent what is no message", { server: name, text: mask(text.slice(0, 200)) }),
    });
    const killable = { ended, kill: () => transport.kill() };
    options.onStart(killable);
    const stop = () => transport.kill();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const era = eras.get(fingerprint);
      const prior = protocol === "sse" || era === "legacy" ? { prior: { kind: "legacy" as const } } : {};
      await client.connect(transport as Transport, { signal, timeout: connectMs, ...prior });
      signal.throwIfAborted();
    } catch (error) {
      transport.kill();
      eras.set(fingerprint, undefined);
      await access.note(error);
      throw new ConnectFault(
        signal.aborted ? describeLate(signal, definition, connectMs) : describe(error),
        statusOf(error),
      );
    } finally {
      signal.removeEventListener("abort", stop);
    }
    transport.finishHandshake();
    eras.set(fingerprint, client.getProtocolEra());
    client.setNotificationHandler("notifications/tools/list_changed", toolsChanged);
    return {
      ...killable,
      client,
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
