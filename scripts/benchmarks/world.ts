import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Scope } from "../../src/core/lifecycle.ts";
import { isolatedEnvironment } from "../isolated-environment.ts";

const CALL_TIMEOUT_MS = 60_000;
const CLOSE_MS = 15_000;

/** A connected MCP client, independent of ours: version 1 of the SDK. */
export interface Peer {
  readonly pid: number;
  readonly client: Client;
  /** Calls a tool and returns the text of its result; an error of the tool is thrown. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

/** Where the benches run: a home of their own, the built binary, and what must be closed at the end. */
export interface World {
  readonly root: string;
  readonly binary: string;
  readonly home: string;
  readonly engine: "podman" | "docker";
  /** Our environment with that home, and with the way to the engine's storage. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: Config;
  readonly scope: Scope;
  /** Starts a server over stdio and shakes hands; closed with the world at the latest. */
  connect(
    command: string,
    args: readonly string[],
    options?: { readonly env?: Readonly<Record<string, string>>; readonly onStderr?: (text: string) => void },
  ): Promise<Peer>;
  /** Defines the upstream servers of bridges that start from now on. */
  defineServers(servers: Readonly<Record<string, unknown>>): void;
}

/** The server that is called directly and from Python. */
export const ECHO_SERVER = {
  command: process.execPath,
  args: [join(import.meta.dir, "programs/echo-server.ts")],
} as const;

export function createWorld(): World {
  const root = realpathSync(resolve(import.meta.dir, "../.."));
  const home = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-bench-")));
  const scope = new Scope(CLOSE_MS);
  scope.add("the home", () => rmSync(home, { recursive: true, force: true }));
  const env = {
    ...isolatedEnvironment(home),
    MCP_BRIDGE_MAX_TIMEOUT: "60",
    MCP_BRIDGE_TIMEOUT: "60",
    MCP_BRIDGE_MAX_CALLS_PER_RUN: "100000",
  };
  const defineServers: World["defineServers"] = (servers) => {
    mkdirSync(join(home, "MCPs"), { recursive: true });
    writeFileSync(join(home, "MCPs/bench.json"), JSON.stringify({ mcpServers: servers }));
  };
  defineServers({ bench: ECHO_SERVER });
  const config = loadConfig(env);
  return {
    root,
    binary: join(root, "dist/sandpy"),
    home,
    env,
    engine: config.engine === "docker" ? "docker" : "podman",
    config,
    scope,
    defineServers,
    async connect(command, args, options = {}) {
      const transport = new StdioClientTransport({
        command,
        args: [...args],
        env: { ...env, ...options.env },
        stderr: "pipe",
      });
      transport.stderr?.on("data", (chunk: Buffer) => options.onStderr?.(chunk.toString()));
      const client = new Client({ name: "sandpy-bench", version: "1.0.0" });
      let closing: Promise<void> | undefined;
      const close = () => (closing ??= client.close());
      scope.add(command, close);
      await client.connect(transport);
      return {
        pid: transport.pid ?? -1,
        client,
        call: (tool, input) => callTool(client, tool, input),
        close,
      };
    },
  };
}

async function callTool(client: Client, name: string, args: Readonly<Record<string, unknown>>) {
  const options = { timeout: CALL_TIMEOUT_MS };
  const result = await client.callTool({ name, arguments: { ...args } }, undefined, options);
  const content = result.content as readonly { readonly type: string; readonly text?: string }[];
  const text = content.map((block) => block.text ?? "").join("\n");
  if (result.isError === true) throw new Error(`${name} failed: ${text}`);
  return text;
}
