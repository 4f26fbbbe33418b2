import { chmodSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Child, startChild } from "../../../src/core/child.ts";
import { BINARY, bridgeEnv, until } from "./engine.ts";
import type { TestHome } from "./home.ts";
import { type Limits, underLimits } from "./limits.ts";

const CALL_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 10_000;
/** What it says as text, or as JSON. */
const LISTENS = /(?: at |"url":")(http:[^\s"]+)/;

/** Tokens of two callers. */
export const ADA = "ada-0123456789abcdef";
export const BOB = "bob-0123456789abcdef";

/** Writes a file with the tokens of both, which nobody else may read; returns its path. */
export function writeTokens(home: TestHome): string {
  const path = home.write("tokens", `ada ${ADA}\nbob ${BOB}\n`);
  chmodSync(path, 0o600);
  return path;
}

/** The binary as a server of its own, on a port that was free. */
export interface Served extends AsyncDisposable {
  readonly origin: string;
  /** Where MCP is. */
  readonly url: URL;
  readonly child: Child;
  /** What it wrote to stderr so far. */
  stderr(): string;
  /** A client that has a session of its own. */
  connect(token: string): Promise<ServedClient>;
}

export interface ServedClient extends AsyncDisposable {
  /** Runs code and returns its status, or the error's message. */
  python(code: string): Promise<string>;
  /** Runs code and returns what the model reads. */
  text(code: string): Promise<string>;
}

/** Starts `sandpy serve --http` with these flags, on any port unless one is named. */
export async function startServed(
  home: TestHome,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  limits: Limits = {},
): Promise<Served> {
  let stderr = "";
  const all = ["serve", "--http", ...(args.includes("--port") ? [] : ["--port", "0"]), ...args];
  const child = await startChild({
    ...underLimits(limits, BINARY, all),
    env: bridgeEnv(home.path, env),
    cwd: home.path,
    onStderr: (text) => {
      stderr += text;
    },
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await child.stop(STOP_GRACE_MS);
  };
  try {
    await until("the server listens", () => LISTENS.test(stderr), 20_000);
  } catch (error) {
    await stop();
    throw new Error(`${String(error)}: ${stderr}`);
  }
  const url = new URL(LISTENS.exec(stderr)?.[1] ?? "");
  return {
    origin: url.origin,
    url,
    child,
    stderr: () => stderr,
    connect: (token) => connect(url, token),
    [Symbol.asyncDispose]: stop,
  };
}

async function connect(url: URL, token: string): Promise<ServedClient> {
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  // Its type takes no `undefined` where the transport's may be that.
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
  const call = (code: string) =>
    client.callTool({ name: "run_python", arguments: { code } }, undefined, { timeout: CALL_TIMEOUT_MS });
  const textOf = ({ content }: Readonly<Record<string, unknown>>) =>
    (content as { readonly text?: string }[]).map(({ text = "" }) => text).join("");
  return {
    async python(code) {
      const result = await call(code);
      const { status } = (result["structuredContent"] ?? {}) as { status?: string };
      return status ?? textOf(result);
    },
    text: async (code) => textOf(await call(code)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
