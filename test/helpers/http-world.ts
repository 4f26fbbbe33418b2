import { createHash } from "node:crypto";
import { createAuthenticator } from "../../src/mcp/http/authenticator.ts";
import type { Connect } from "../../src/mcp/http/connection.ts";
import type { ConnectionLimits } from "../../src/mcp/http/gate/limits.ts";
import { LOOPBACK_HOSTS } from "../../src/mcp/http/host-guard.ts";
import { createHttpApp } from "../../src/mcp/http/http-app.ts";
import type { SessionLimits } from "../../src/mcp/http/legacy-sessions.ts";
import { listen } from "../../src/mcp/http/listen.ts";
import { createMcpEndpoint } from "../../src/mcp/http/mcp-endpoint.ts";
import { createStaticTokens } from "../../src/mcp/http/static-tokens.ts";
import type { ServerNames } from "../../src/mcp/listed-tool.ts";
import { createEchoRunner } from "../fixtures/mcp/echo-runner.ts";
import { createMemoryLog } from "./logs.ts";
import { SERVER_OPTIONS } from "./mcp-peers.ts";

export const ALICE = "a-token-of-alice-0001";
export const BOB = "a-token-of-bob-000001";
export const digestOf = (token: string) => createHash("sha256").update(token).digest();

export interface HttpWorldOptions {
  readonly connect?: Connect;
  readonly limits?: Partial<SessionLimits>;
  readonly servers?: ServerNames;
  readonly idleSeconds?: number;
  readonly connections?: ConnectionLimits;
}

/** A server of MCP on a port of this machine, as it is in the product but for the sandboxes. */
export function startHttpWorld(options: HttpWorldOptions = {}) {
  const log = createMemoryLog();
  /** One line for each connection that was made or ended. */
  const connections: string[] = [];
  const connect: Connect =
    options.connect ??
    (async ({ caller, hasDefault }) => {
      connections.push(`+${caller.name} ${hasDefault ? "session" : "request"}`);
      return {
        runner: createEchoRunner(),
        close: async () => void connections.push(`-${caller.name}`),
      };
    });
  let isDraining = false;
  const endpoint = createMcpEndpoint({
    connect,
    server: {
      ...SERVER_OPTIONS,
      log,
      ...(options.servers === undefined ? {} : { servers: options.servers }),
    },
    limits: { total: 8, perCaller: 4, ttlMs: 60_000, ...options.limits },
    onClient: () => undefined,
    log,
  });
  const tokens = [
    { name: "alice", digest: digestOf(ALICE) },
    { name: "bob", digest: digestOf(BOB) },
  ];
  const app = createHttpApp({
    path: "/mcp",
    endpoint,
    authenticator: createAuthenticator({ verifiers: [createStaticTokens(async () => tokens)] }),
    hosts: { hosts: LOOPBACK_HOSTS, origins: [] },
    routes: [],
    isDraining: () => isDraining,
    log,
  });
  const listening = listen({
    app,
    host: "127.0.0.1",
    port: 0,
    idleSeconds: options.idleSeconds ?? 30,
    ...(options.connections === undefined ? {} : { connections: options.connections }),
    log,
  });
  const hurry = new AbortController();
  const close = async (graceMs = 0) => {
    isDraining = true;
    await endpoint.close(graceMs, hurry.signal);
    await listening.close();
  };
  const url = `http://127.0.0.1:${listening.port}/mcp`;
  return {
    url,
    port: listening.port,
    log,
    connections,
    close,
    hurry: () => hurry.abort(),
    /** Answers without a connection in between, which would take much of an answer that nobody reads. */
    answer: async (request: Request): Promise<Response> => app.fetch(request),
    /** Sends one message as an older client would, in a session unless that is `undefined`. */
    async post(message: object, session?: string, headers: Record<string, string> = {}): Promise<Response> {
      return fetch(url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${ALICE}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session === undefined ? {} : { "mcp-session-id": session }),
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    },
    [Symbol.asyncDispose]: () => close(),
  };
}

export type HttpWorld = ReturnType<typeof startHttpWorld>;

export const INITIALIZE = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};

/** Begins a session as an older client would; returns its id. */
export async function openSession(world: HttpWorld, token = ALICE): Promise<string> {
  const answer = await world.post(INITIALIZE, undefined, { authorization: `Bearer ${token}` });
  await answer.text();
  const id = answer.headers.get("mcp-session-id");
  if (id === null) throw new Error(`no session: ${answer.status}`);
  return id;
}

/** The messages of a stream of server-sent events, with their ids. */
export async function* eventsOf(
  response: Response,
): AsyncGenerator<{ id: string; message: Message | undefined }> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const data = /^data: (.+)$/m.exec(event)?.[1];
      const id = /^id: (.+)$/m.exec(event)?.[1];
      if (id !== undefined) yield { id, message: data === undefined ? undefined : JSON.parse(data) };
    }
  }
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}
