import { describe, expect, test } from "bun:test";
import { Client as ModernClient, type VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { McpClientPeer } from "../../src/mcp/client-peer.ts";
import type { ServerNames } from "../../src/mcp/listed-tool.ts";
import { createServer } from "../../src/mcp/server.ts";
import { createEchoRunner } from "../fixtures/mcp/echo-runner.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { SERVER_OPTIONS, StreamTransport } from "../helpers/mcp-peers.ts";
import { until } from "../helpers/until.ts";

const URI = "resource://mcp-server-code-execution-mode/capabilities";
const IDENTITY = { name: "test", version: "1" };

/** Servers that a test names, at once or later. */
function createNames(): ServerNames & { set(...aliases: string[]): void; readonly listeners: number } {
  const listeners = new Set<(aliases: readonly string[]) => void>();
  const known = Promise.withResolvers<void>();
  let current: readonly string[] = [];
  return {
    read: async () => {
      await known.promise;
      return current;
    },
    onRead(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(...aliases) {
      current = aliases;
      known.resolve();
      for (const listener of listeners) listener(aliases);
    },
    get listeners() {
      return listeners.size;
    },
  };
}

interface Seen extends AsyncDisposable {
  description(): Promise<string>;
  readManual(): Promise<unknown>;
  readonly changes: number;
}

function seen(client: ModernClient | OlderClient, changes: () => number): Seen {
  return {
    description: async () => (await client.listTools()).tools[0]?.description ?? "",
    readManual: async () => (await client.readResource({ uri: URI })).contents,
    get changes() {
      return changes();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Connect = (transport: StreamTransport) => Promise<Seen>;

function connectModern(versionNegotiation: VersionNegotiationOptions): Connect {
  return async (transport) => {
    let changes = 0;
    const onChanged = () => {
      changes += 1;
    };
    const client = new ModernClient(IDENTITY, {
      versionNegotiation,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    await client.connect(transport);
    return seen(client, () => changes);
  };
}

const connectOlder: Connect = async (transport) => {
  let changes = 0;
  const client = new OlderClient(IDENTITY);
  client.fallbackNotificationHandler = async ({ method }) => {
    if (method === "notifications/tools/list_changed") changes += 1;
  };
  await client.connect(transport);
  return seen(client, () => changes);
};

const CLIENTS: readonly (readonly [string, Connect])[] = [
  ["SDK v1", connectOlder],
  ["SDK v2, legacy", connectModern({ mode: "legacy" })],
  ["SDK v2, pinned to 2026-07-28", connectModern({ mode: { pin: "2026-07-28" } })],
];

function open(names: ServerNames, connect: Connect): Promise<Seen> {
  const create = (shutdown: AbortSignal) =>
    createServer(createEchoRunner(), {
      ...SERVER_OPTIONS,
      log: createMemoryLog(),
      shutdown,
      peer: new McpClientPeer(),
      servers: names,
    });
  return connect(new StreamTransport(create));
}

describe.each(CLIENTS)("a client of %s", (_title, connect) => {
  test("sees the servers, the same each time, and hears once of others", async () => {
    const names = createNames();
    names.set("github", "slack");
    await using client = await open(names, connect);
    const first = await client.description();
    expect(first).toEndWith("\nServers: github, slack");
    expect(await client.description()).toBe(first);
    names.set("github", "slack");
    names.set("github");
    names.set("github", "notes");
    await until("the client hears of it", () => client.changes > 0);
    expect(await client.description()).toEndWith("\nServers: github, notes");
    expect(client.changes).toBe(1);
  });

  test("does not wait for servers that are slow to be read, and hears of them later", async () => {
    const names = createNames();
    await using client = await open(names, connect);
    const before = performance.now();
    expect(await client.description()).toEndWith("\nFind tools: await runtime.search_tool_docs('words')");
    expect(performance.now() - before).toBeLessThan(1500);
    names.set("github");
    await until("the client hears of it", () => client.changes === 1);
    expect(await client.description()).toEndWith("\nServers: github");
  });

  test("reads the manual", async () => {
    await using client = await open(createNames(), connect);
    expect(await client.readManual()).toEqual([
      { uri: URI, mimeType: "text/markdown", text: SERVER_OPTIONS.manual },
    ]);
  });
});

test("a server whose client is gone listens to nothing any more", async () => {
  const names = createNames();
  {
    await using client = await open(names, connectOlder);
    await client.description();
    expect(names.listeners).toBe(1);
  }
  await until("it lets go", () => names.listeners === 0);
});
