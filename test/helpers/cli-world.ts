import { PassThrough } from "node:stream";
import type { CliBridge, CliContext, CliIo, CliService, StopSignal } from "../../src/cli/context.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Config } from "../../src/config/config.ts";
import { createBridgeEvents } from "../../src/core/bridge-events.ts";
import type { Kernel } from "../../src/kernel/kernel.ts";
import { WorkspaceFiles } from "../../src/kernel/workspace-files.ts";
import type { ExecuteRequest, Outcome } from "../../src/session/outcome.ts";
import { until } from "./until.ts";

export const OK: Outcome = {
  status: "ok",
  stdout: { text: "", dropped: 0 },
  stderr: { text: "", dropped: 0 },
  result: null,
  error: null,
  exitCode: null,
  late: { stdout: { text: "", dropped: 0 }, stderr: { text: "", dropped: 0 } },
  notes: [],
  images: [],
  durationMs: 0,
  stateLost: false,
};

type Execute = (request: ExecuteRequest, signal: AbortSignal) => Promise<Outcome>;

/** The command line in this process: streams in memory, signals by call, and a bridge that does what a test says. */
export class CliWorld {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly env: Record<string, string> = { HOME: process.env["HOME"] ?? "/" };
  readonly events: string[] = [];
  readonly bridgeEvents = createBridgeEvents();
  stdinIsTerminal = false;
  config: Config | undefined;
  /** What the sandbox answers where files are asked for. */
  files: Pick<Kernel, "ask"> = { ask: async () => ({ value: {} }) };
  execute: Execute = async () => OK;
  readonly #handlers = new Set<(signal: StopSignal) => void>();
  readonly #serving = Promise.withResolvers<void>();

  async run(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const stdout = collect(this.stdout);
    const stderr = collect(this.stderr);
    const io: CliIo = {
      env: this.env,
      stdin: this.stdin,
      stdout: this.stdout,
      stderr: this.stderr,
      stdinIsTerminal: this.stdinIsTerminal,
      selfPath: undefined,
      onStopSignal: (handler) => {
        this.#handlers.add(handler);
        return () => this.#handlers.delete(handler);
      },
    };
    const code = await runCli(argv, io, this.#createBridge);
    return { code, stdout: stdout(), stderr: stderr() };
  }

  /** Sends a signal as soon as somebody listens for it. */
  async signal(name: StopSignal): Promise<void> {
    await until(`a handler of ${name}`, () => this.#handlers.size > 0);
    for (const handle of this.#handlers) handle(name);
  }

  get listens(): boolean {
    return this.#handlers.size > 0;
  }

  /** The client of `serve` goes away. */
  hangUp(): void {
    this.#serving.resolve();
  }

  readonly #createBridge: CliContext["createBridge"] = async (config): Promise<CliBridge> => {
    this.config = config;
    this.events.push("bridge created");
    return {
      events: this.bridgeEvents,
      openSession: async () => ({
        execute: (request, signal) => this.execute(request, signal),
        filesBefore: async () => new WorkspaceFiles(this.files),
        filesAfter: async () => new WorkspaceFiles(this.files),
        close: async () => undefined,
      }),
      serveStdio: () => this.#serve("serving"),
      serveHttp: async () => ({ url: "http://127.0.0.1:1/mcp", ...this.#serve("serving by HTTP") }),
      close: async () => {
        this.events.push("bridge closed");
      },
    };
  };

  #serve(event: string): CliService {
    this.events.push(event);
    return {
      done: this.#serving.promise,
      close: () => {
        this.events.push("asked to close");
        this.#serving.resolve();
        return this.#serving.promise;
      },
    };
  }
}

function collect(stream: PassThrough): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
