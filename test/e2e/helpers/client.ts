import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { BINARY, bridgeEnv } from "./engine.ts";
import { createHome, type TestHome } from "./home.ts";
import { type Limits, underLimits } from "./limits.ts";

const CALL_TIMEOUT_MS = 110_000;

/** What a model sees of one call. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

/** All of what a client gets of one call. */
export interface FullAnswer extends Answer {
  readonly structured: Readonly<Record<string, unknown>>;
  readonly images: readonly { readonly mimeType: string; readonly data: string }[];
}

/** A client connected to the built binary, with a home of its own. */
export interface Bridge extends AsyncDisposable {
  readonly pid: number;
  readonly home: TestHome;
  readonly listTools: () => Promise<{ readonly name: string; readonly description?: string }[]>;
  /** The contents of one resource. */
  readonly readResource: (uri: string) => Promise<readonly unknown[]>;
  /** Is told when the client hears that its tools changed; not in the revision of 2026-07-28. */
  onToolsChanged: () => void;
  /** Calls `run_python` with these arguments, right or wrong. */
  call(
    args: Readonly<Record<string, unknown>>,
    options?: { signal?: AbortSignal; onProgress?: (message: string) => void },
  ): Promise<FullAnswer>;
  /** Runs code and returns what the model sees. */
  python(code: string, more?: Readonly<Record<string, unknown>>): Promise<Answer>;
}

export interface BridgeOptions {
  readonly home?: TestHome;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Where it runs: the home by default. */
  readonly cwd?: string;
  readonly limits?: Limits;
  /** Which client, and what it speaks. */
  readonly protocol?: "2024-11-05" | "2025-11-25" | "2026-07-28";
}

/** Starts the binary with a real client over stdio. */
export async function startBridge(options: BridgeOptions = {}): Promise<Bridge> {
  const home = options.home ?? createHome();
  const server = {
    ...underLimits(options.limits ?? {}, BINARY, options.args ?? []),
    env: bridgeEnv(home.path, options.env),
    cwd: options.cwd ?? home.path,
    stderr: "ignore" as const,
  };
  const { client, pid } =
    options.protocol === "2026-07-28"
      ? await connectModern(server)
      : await connectLegacy(server, options.protocol);
  const call: Bridge["call"] = async (args, { signal, onProgress } = {}) => {
    const result = await client.callTool(
      { name: "run_python", arguments: { ...args } },
      {
        timeout: CALL_TIMEOUT_MS,
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined
          ? {}
          : { onprogress: ({ message }: { message?: string }) => onProgress(message ?? "") }),
      },
    );
    const blocks = result["content"] as Block[];
    return {
      text: blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
      isError: result["isError"] === true,
      structured: result["structuredContent"] as FullAnswer["structured"],
      images: blocks.flatMap((block) =>
        block.type === "image" ? [{ mimeType: block.mimeType, data: block.data }] : [],
      ),
    };
  };
  const bridge: Bridge = {
    pid,
    home,
    readResource: async (uri) => (await client.readResource({ uri })).contents,
    onToolsChanged: () => undefined,
    listTools: async () => (await client.listTools()).tools,
    call,
    async python(code, more = {}) {
      const { text, isError } = await call({ code, ...more });
      return { text, isError };
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      if (options.home === undefined) home[Symbol.dispose]();
    },
  };
  client.fallbackNotificationHandler = async ({ method }) => {
    if (method === "notifications/tools/list_changed") bridge.onToolsChanged();
  };
  return bridge;
}

type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly data: string };

interface Connected {
  readonly client: {
    callTool(
      params: { name: string; arguments: Record<string, unknown> },
      options: object,
    ): Promise<Readonly<Record<string, unknown>>>;
    listTools(): Promise<{ tools: { name: string; description?: string }[] }>;
    readResource(params: { uri: string }): Promise<{ contents: readonly unknown[] }>;
    fallbackNotificationHandler?: ((notification: { readonly method: string }) => Promise<void>) | undefined;
    close(): Promise<void>;
  };
  readonly pid: number;
}

type ServerParameters = ConstructorParameters<typeof StdioClientTransport>[0];

async function connectModern(server: ServerParameters): Promise<Connected> {
  const client = new ModernClient(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const transport = new ModernTransport(server as ConstructorParameters<typeof ModernTransport>[0]);
  await client.connect(transport);
  return { client: client as unknown as Connected["client"], pid: transport.pid ?? -1 };
}

async function connectLegacy(server: ServerParameters, protocol = "2025-11-25"): Promise<Connected> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport(server);
  if (protocol !== "2025-11-25") askFor(transport, protocol);
  await client.connect(transport);
  return {
    client: {
      // Its type also covers the results of a protocol before the first release.
      callTool: (params, options) =>
        client.callTool(params, undefined, options) as ReturnType<Connected["client"]["callTool"]>,
      listTools: () => client.listTools() as ReturnType<Connected["client"]["listTools"]>,
      readResource: (params) => client.readResource(params),
      set fallbackNotificationHandler(handler: (notification: { readonly method: string }) => Promise<void>) {
        client.fallbackNotificationHandler = handler;
      },
      close: () => client.close(),
    },
    pid: transport.pid ?? -1,
  };
}

/** The v1 client always asks for its newest revision; an older client is one that asks for an older one. */
function askFor(transport: StdioClientTransport, protocolVersion: string): void {
  const send = transport.send.bind(transport);
  transport.send = (message) => {
    const request = message as { method?: string; params?: object };
    if (request.method !== "initialize") return send(message);
    return send({ ...message, params: { ...request.params, protocolVersion } } as typeof message);
  };
}
