import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { withDeadline } from "../../src/core/lifecycle.ts";
import type { World } from "./world.ts";

const START_MS = 20_000;
const STOP_MS = 15_000;
const CALL_TIMEOUT_MS = 60_000;

/** `sandpy serve --http`, in a process of its own. */
export interface ServedBridge {
  readonly pid: number;
  /** Connects a client of version 1 of the SDK: it has a session of its own. */
  connect(): Promise<ServedSession>;
  close(): Promise<void>;
}

/** One client with its session. */
export interface ServedSession {
  /** Runs code; what fails is thrown. */
  python(code: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts the built binary as a server on any port, for up to `sessions` sessions; closed with the world at the latest. */
export async function serveBridge(world: World, sessions: number): Promise<ServedBridge> {
  const child = Bun.spawn([world.binary, "serve", "--http", "--port", "0"], {
    env: {
      ...world.env,
      MCP_BRIDGE_MAX_SESSIONS: String(sessions + 1),
      MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: String(sessions + 1),
    },
    cwd: world.home,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  let closing: Promise<void> | undefined;
  const close = () =>
    (closing ??= (async () => {
      child.kill("SIGTERM");
      await withDeadline(child.exited, STOP_MS, "the end of the server");
    })());
  world.scope.add("the server", close);
  const address = Promise.withResolvers<URL>();
  void (async () => {
    let log = "";
    // Read to its end: a server that nobody reads would block.
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      log += chunk;
      const url = /serving MCP at (\S+)/.exec(log)?.[1];
      if (url !== undefined) address.resolve(new URL(url));
    }
    address.reject(new Error(`the server ended: ${log}`));
  })();
  const url = await withDeadline(address.promise, START_MS, "the start of the server");
  return { pid: child.pid, connect: () => connect(url), close };
}

async function connect(url: URL): Promise<ServedSession> {
  const client = new Client({ name: "sandpy-bench", version: "1.0.0" });
  // Its type takes no `undefined` where the transport's may be that.
  await client.connect(new StreamableHTTPClientTransport(url) as never);
  return {
    async python(code) {
      const params = { name: "run_python", arguments: { code } };
      const result = await client.callTool(params, undefined, { timeout: CALL_TIMEOUT_MS });
      if (result.isError === true) throw new Error(`run_python failed: ${JSON.stringify(result.content)}`);
    },
    close: () => client.close(),
  };
}
