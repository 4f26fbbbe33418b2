import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Client as ModernClient, type VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { McpServer } from "@modelcontextprotocol/server";
import { LineSplitter } from "../../src/core/lines.ts";
import { McpClientPeer } from "../../src/mcp/client-peer.ts";
import { createServer } from "../../src/mcp/server.ts";
import { serveStdio } from "../../src/mcp/stdio.ts";
import { createEchoRunner } from "../fixtures/mcp/echo-runner.ts";
import { createMemoryLog } from "./logs.ts";

const CHILD = {
  command: process.execPath,
  args: [join(import.meta.dir, "../fixtures/mcp/stdio-server.ts")],
  stderr: "ignore" as const,
};
const IDENTITY = { name: "test", version: "1" };
const TOOL = "run_python";

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (update: { progress: number; message?: string | undefined }) => void;
}

/** A connected MCP client, whichever SDK it comes from. */
export interface McpPeer extends AsyncDisposable {
  /** The `tools` of the reply to `tools/list`, as they came. */
  listTools(): Promise<readonly object[]>;
  call(
    args: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<{ readonly text: string; readonly isError: boolean }>;
  readonly protocol: string | undefined;
}

/** How a client reaches the server: through streams in this process, or as a child process. */
export type Medium = "streams" | "process";
export const MEDIA: readonly Medium[] = ["streams", "process"];

/** Every kind of client that must be served alike, with the revision that it ends up with. */
export const PEERS: readonly (readonly [
  name: string,
  protocol: string,
  connect: (medium: Medium) => Promise<McpPeer>,
])[] = [
  ["SDK v1", "2025-11-25", (medium) => connectOlder(medium, "2025-11-25")],
  ["SDK v1 of old", "2024-11-05", (medium) => connectOlder(medium, "2024-11-05")],
  ["SDK v2, pinned", "2026-07-28", (medium) => connectModern(medium, { mode: { pin: "2026-07-28" } })],
  ["SDK v2, automatic", "2026-07-28", (medium) => connectModern(medium, { mode: "auto" })],
  ["SDK v2, legacy", "2025-11-25", (medium) => connectModern(medium, { mode: "legacy" })],
];

async function connectOlder(medium: Medium, version: string): Promise<McpPeer> {
  const client = new OlderClient(IDENTITY);
  const transport: Transport = medium === "streams" ? new StreamTransport() : new OlderStdio(CHILD);
  let protocol: string | undefined;
  transport.setProtocolVersion = (negotiated) => {
    protocol = negotiated;
  };
  // The SDK always offers its latest revision; an old client offers its own.
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message && message.method === "initialize" && message.params !== undefined) {
      message.params["protocolVersion"] = version;
    }
    return send(message, options);
  };
  await client.connect(transport);
  return {
    protocol,
    listTools: async () => (await client.listTools()).tools,
    call: async (args, options) =>
      asText(await client.callTool({ name: TOOL, arguments: args }, undefined, options)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connectModern(
  medium: Medium,
  versionNegotiation: VersionNegotiationOptions,
): Promise<McpPeer> {
  const client = new ModernClient(IDENTITY, { versionNegotiation });
  await client.connect(medium === "streams" ? new StreamTransport() : new ModernStdio(CHILD));
  return {
    protocol: client.getNegotiatedProtocolVersion(),
    listTools: async () => (await client.listTools()).tools,
    call: async (args, options) => asText(await client.callTool({ name: TOOL, arguments: args }, options)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function asText(result: object) {
  const { content, isError } = result as { content: { type: string; text: string }[]; isError?: boolean };
  const [block, ...others] = content;
  if (block?.type !== "text" || others.length > 0) throw new Error("expected one block of text");
  return { text: block.text, isError: isError === true };
}

/** The client's end of a connection to {@link serveStdio} in this process. */
export class StreamTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #toServer = new PassThrough();
  readonly #fromServer = new PassThrough();
  readonly #splitter = new LineSplitter(1 << 26);
  readonly #createServer: (shutdown: AbortSignal) => McpServer;

  constructor(createServer: (shutdown: AbortSignal) => McpServer = createEchoServer) {
    this.#createServer = createServer;
  }

  async start(): Promise<void> {
    this.#fromServer.on("data", (chunk: Uint8Array) => {
      for (const line of this.#splitter.push(chunk)) {
        if (line.kind === "line") this.onmessage?.(JSON.parse(new TextDecoder().decode(line.bytes)));
      }
    });
    const serving = serveStdio({
      log: createMemoryLog(),
      stdin: this.#toServer,
      stdout: this.#fromServer,
      createServer: this.#createServer,
    });
    void serving.done.then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#toServer.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#toServer.end();
  }
}

function createEchoServer(shutdown: AbortSignal): McpServer {
  return createServer(createEchoRunner(), {
    ...SERVER_OPTIONS,
    log: createMemoryLog(),
    shutdown,
    peer: new McpClientPeer(),
  });
}

/** What every server of a test is created with. */
export const SERVER_OPTIONS = {
  name: "sandpy",
  version: "1.2.3",
  defaults: { timeoutSeconds: 30, maxTimeoutSeconds: 120 },
  outputMode: "compact",
  manual: "# the manual",
} as const;
