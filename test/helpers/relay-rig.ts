import { Client as ModernClient } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import type { LogLevel } from "../../src/core/log.ts";
import { McpClientPeer } from "../../src/mcp/client-peer.ts";
import type { PythonRunner } from "../../src/mcp/python-runner.ts";
import { createServer } from "../../src/mcp/server.ts";
import type { ClientPeer } from "../../src/upstream/client-peer.ts";
import type { Rig } from "../upstream/harness.ts";
import { createMemoryLog } from "./logs.ts";
import { SERVER_OPTIONS, StreamTransport } from "./mcp-peers.ts";
import { NOTHING } from "./run-results.ts";

const IDENTITY = { name: "test", version: "1" };

/**
 * A client of an upstream, with all of our MCP server in between and no Python: its code is a tool call as JSON, or a list
 * of calls that are made one after the other, of which one that is a list itself is made all at once.
 */
function connectTransport(rig: Rig, level: LogLevel): StreamTransport {
  const peer = new McpClientPeer();
  rig.upstream.welcome(peer);
  const runner = createToolRunner(rig);
  return new StreamTransport((shutdown) =>
    createServer(runner, { ...SERVER_OPTIONS, log: createMemoryLog(level), shutdown, peer }),
  );
}

/** A client of the revisions with `initialize`; `setUp` gives it handlers before it connects. */
export async function connectOlder(
  rig: Rig,
  capabilities: Record<string, object>,
  setUp: (client: OlderClient) => void = () => undefined,
  level: LogLevel = "DEBUG",
): Promise<OlderClient> {
  const client = new OlderClient(IDENTITY, { capabilities });
  setUp(client);
  await client.connect(connectTransport(rig, level));
  return client;
}

/** A client of the revision of 2026-07-28. */
export async function connectModern(
  rig: Rig,
  capabilities: Record<string, object>,
  setUp: (client: ModernClient) => void = () => undefined,
  level: LogLevel = "DEBUG",
): Promise<ModernClient> {
  const client = new ModernClient(IDENTITY, {
    capabilities,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  setUp(client);
  await client.connect(connectTransport(rig, level));
  return client;
}

type Call = { readonly server: string; readonly tool: string; readonly arguments: Record<string, unknown> };
export type Calls = Call | readonly (Call | readonly Call[])[];

/** The arguments of a `run_python` that makes calls. */
export function callsRun(calls: Calls): { name: string; arguments: { code: string } } {
  return { name: "run_python", arguments: { code: JSON.stringify(calls) } };
}

/** The arguments of a `run_python` that calls one tool. */
export function toolRun(server: string, tool: string): { name: string; arguments: { code: string } } {
  return { name: "run_python", arguments: { code: JSON.stringify({ server, tool, arguments: {} }) } };
}

/** One session, as that of a connection. */
function createToolRunner({ upstream }: Rig): PythonRunner {
  let current: ClientPeer | undefined;
  const tools = upstream.openSession(() => current);
  return {
    async run({ code, peer }, signal) {
      current = peer;
      tools.beginRun();
      const calls = JSON.parse(code) as Calls;
      const make = (call: Call) => tools.callTool(call, signal);
      const settled = (call: Call) => make(call).then((result) => result["structuredContent"], String);
      try {
        if (!Array.isArray(calls)) {
          return { ...NOTHING, status: "ok", result: JSON.stringify(await make(calls as Call)) };
        }
        const results: unknown[] = [];
        for (const step of calls) {
          results.push(await (Array.isArray(step) ? Promise.all(step.map(settled)) : settled(step)));
        }
        return { ...NOTHING, status: "ok", result: JSON.stringify(results) };
      } catch (error) {
        return { ...NOTHING, status: signal.aborted ? "cancelled" : "error", result: String(error) };
      }
    },
  };
}
