import {
  Client as NewerClient,
  StreamableHTTPClientTransport as NewerTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { BINARY } from "./engine.ts";

const CALL_TIMEOUT_MS = 60_000;

/** Which line of the SDK a client is of, and with it which revision it speaks. */
export type Line = "v1" | "v2";

/** What comes of one run. */
export interface SessionAnswer {
  readonly text: string;
  readonly isError: boolean;
  /** The handle of the session, where the answer says one. */
  readonly session: string | undefined;
}

/** A client that runs code in sessions. */
export interface SessionClient extends AsyncDisposable {
  run(code: string, session?: string): Promise<SessionAnswer>;
}

/** Starts a bridge of its own over stdio, and a client of the older line for it. */
export async function connectStdio(
  env: Record<string, string>,
  cwd: string,
): Promise<SessionClient & { readonly pid: number }> {
  const client = new Client({ name: "stdio", version: "1" });
  const transport = new StdioClientTransport({ command: BINARY, args: [], env, cwd, stderr: "ignore" });
  await client.connect(transport);
  const options = { timeout: CALL_TIMEOUT_MS };
  return {
    pid: transport.pid ?? -1,
    run: async (...args) => toAnswer(await client.callTool(paramsOf(...args), undefined, options)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Connects a client of either line to a server that listens. */
export async function connectHttp(url: URL, token: string, line: Line): Promise<SessionClient> {
  const more = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  const options = { timeout: CALL_TIMEOUT_MS };
  if (line === "v1") {
    const client = new Client({ name: "v1", version: "1" });
    // Its type takes no `undefined` where the transport's may be that.
    await client.connect(new StreamableHTTPClientTransport(url, more) as never);
    return {
      run: async (...args) => toAnswer(await client.callTool(paramsOf(...args), undefined, options)),
      [Symbol.asyncDispose]: () => client.close(),
    };
  }
  const client = new NewerClient({ name: "v2", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new NewerTransport(url, more));
  return {
    run: async (...args) => toAnswer(await client.callTool(paramsOf(...args), options)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function paramsOf(code: string, session?: string) {
  return { name: "run_python", arguments: { code, ...(session === undefined ? {} : { session }) } };
}

function toAnswer(result: Readonly<Record<string, unknown>>): SessionAnswer {
  const { session } = (result["structuredContent"] ?? {}) as { session?: string };
  const blocks = result["content"] as { readonly text?: string }[];
  const text = blocks.map(({ text = "" }) => text).join("");
  return { text, isError: result["isError"] === true, session };
}
