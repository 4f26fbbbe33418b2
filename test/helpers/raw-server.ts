import { join } from "node:path";
import { type Child, startChild } from "../../src/core/child.ts";
import { LineSplitter } from "../../src/core/lines.ts";
import { until } from "./until.ts";

type Reply = Record<string, unknown> & { readonly id?: unknown };

/** The stdio face in a child process, spoken to in raw bytes. Every line of its stdout must be JSON-RPC. */
export class RawServer implements AsyncDisposable {
  readonly child: Child;
  readonly replies: Reply[] = [];
  readonly #reading: Promise<void>;

  private constructor(child: Child) {
    this.child = child;
    this.#reading = this.#read();
  }

  static async start(): Promise<RawServer> {
    const script = join(import.meta.dir, "../fixtures/mcp/stdio-server.ts");
    return new RawServer(await startChild({ command: process.execPath, args: [script], env: {} }));
  }

  /** A server that has answered `initialize`. */
  static async connect(): Promise<RawServer> {
    const server = await RawServer.start();
    await server.child.write(INITIALIZE);
    await server.reply("init");
    return server;
  }

  async reply(id: unknown): Promise<Reply> {
    const find = () => this.replies.find((reply) => reply.id === id);
    await until(`a reply to ${JSON.stringify(id)}`, () => find() !== undefined);
    return find() as Reply;
  }

  /** The exit code, when all of stdout has been read. */
  async end(): Promise<number | null> {
    const { code } = await this.child.exited;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  async #read(): Promise<void> {
    const splitter = new LineSplitter(1 << 27);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    for await (const chunk of this.child.stdout) {
      for (const line of splitter.push(chunk)) {
        if (line.kind === "line") this.replies.push(JSON.parse(decoder.decode(line.bytes)));
      }
    }
  }
}

/** One request as a line. */
export function request(id: unknown, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

/** A call of `run_python` as a line; `code` is what the echo runner understands. */
export function call(id: unknown, code: string): string {
  return request(id, "tools/call", { name: "run_python", arguments: { code } });
}

export const INITIALIZE = request("init", "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
});

/** What the model reads in a reply to {@link call}. */
export function textOf(reply: Record<string, unknown>): string | undefined {
  return (reply["result"] as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text;
}
