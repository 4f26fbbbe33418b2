import { BridgeError, type ErrorCode, toBridgeError } from "../core/errors.ts";
import type { HostTools } from "../kernel/host-tools.ts";
import type { OutgoingLine, RpcError, RpcFrame, RpcValue } from "../kernel/protocol.ts";
import type { RpcRequest } from "../kernel/rpc.ts";

/** Requests that Python may have open at once; more are refused, since each is held in memory. */
const MAX_OPEN = 10_000;
/** Requests that are with an upstream server at once; the others wait their turn. */
const MAX_ACTIVE = 256;

type Reply = Extract<OutgoingLine, readonly ["k", { readonly type: "reply" | "reply_error" }]>;

export interface RpcDeskOptions {
  readonly tools: HostTools;
  readonly parse: (frame: RpcFrame) => RpcRequest | { readonly invalid: string };
  /** Milliseconds that a request made now may take. */
  readonly budgetMs: () => number;
}

/**
 * Serves the requests of one Python process. Every request gets exactly one reply; `abandon()` stops those under
 * way, for a process that is gone or an execution that ran out of time.
 */
export class RpcDesk {
  readonly #options: RpcDeskOptions;
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #active = 0;
  #abort = new AbortController();

  constructor(options: RpcDeskOptions) {
    this.#options = options;
  }

  /** Answers `frame` through `reply`, which resolves when the sandbox has taken it. Never rejects. */
  async serve(frame: RpcFrame, reply: (line: Reply) => Promise<void>): Promise<void> {
    if (this.#open >= MAX_OPEN) {
      const message = `more than ${MAX_OPEN} requests are open at once; await some before making more`;
      await reply(failure(frame.id, { kind: "limit", message, server: null, tool: null }));
      return;
    }
    this.#open += 1;
    const deadline = AbortSignal.timeout(Math.max(1, this.#options.budgetMs()));
    const abandoned = this.#abort.signal;
    try {
      await this.#enter();
      try {
        await reply(await this.#answer(frame, abandoned, deadline));
      } finally {
        this.#leave();
      }
    } finally {
      this.#open -= 1;
    }
  }

  /** Stops all requests under way. Those made afterwards are served as usual. */
  abandon(reason: string): void {
    this.#abort.abort(new BridgeError("CANCELLED", reason));
    this.#abort = new AbortController();
  }

  async #answer(frame: RpcFrame, abandoned: AbortSignal, deadline: AbortSignal): Promise<Reply> {
    const request = this.#options.parse(frame);
    if ("invalid" in request) {
      return failure(frame.id, { kind: "internal", message: request.invalid, server: null, tool: null });
    }
    const own = timeoutOf(request);
    const signals = [abandoned, deadline, ...(own === undefined ? [] : [AbortSignal.timeout(own)])];
    const signal = AbortSignal.any(signals);
    try {
      signal.throwIfAborted();
      return ["k", { type: "reply", id: frame.id, value: await this.#call(request, signal) }];
    } catch (error) {
      const late = signal.aborted && !abandoned.aborted;
      return failure(frame.id, describe(request, late ? timedOut(request) : toBridgeError(error)));
    }
  }

  async #call(request: RpcRequest, signal: AbortSignal): Promise<RpcValue> {
    const { tools } = this.#options;
    switch (request.method) {
      case "servers":
        return await tools.servers();
      case "tools":
        return tools.tools(request.params.server, signal);
      case "call_tool": {
        const { server, tool, arguments: args } = request.params;
        const result = await tools.callTool({ server, tool, arguments: args }, signal);
        if (result["isError"] === true) throw new BridgeError("UPSTREAM_FAILED", textOf(result));
        return result;
      }
    }
  }

  async #enter(): Promise<void> {
    if (this.#active < MAX_ACTIVE) this.#active += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve)); // the place is handed over
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#active -= 1;
    else next();
  }
}

const KINDS: Partial<Record<ErrorCode, RpcError["kind"]>> = {
  UPSTREAM_FAILED: "tool",
  UPSTREAM_UNKNOWN_SERVER: "unknown",
  UPSTREAM_UNKNOWN_TOOL: "unknown",
  UPSTREAM_UNREACHABLE: "unreachable",
  UPSTREAM_TIMEOUT: "timeout",
  LIMIT_EXCEEDED: "limit",
};

function describe(request: RpcRequest, error: BridgeError): RpcError {
  const { server = null, tool = null } = request.params as { server?: string; tool?: string };
  const message = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  return { kind: KINDS[error.code] ?? "internal", message, server, tool };
}

function failure(id: number, error: RpcError): Reply {
  return ["k", { type: "reply_error", id, error }];
}

function timeoutOf(request: RpcRequest): number | undefined {
  const seconds = request.method === "call_tool" ? request.params.timeout : null;
  return seconds === null ? undefined : Math.min(seconds * 1000, 2 ** 31 - 1);
}

function timedOut(request: RpcRequest): BridgeError {
  return new BridgeError("UPSTREAM_TIMEOUT", `the request ${JSON.stringify(request.method)} ran out of time`);
}

/** The text of an `isError` result; the protocol lets it be empty. */
function textOf(result: Readonly<Record<string, unknown>>): string {
  const blocks = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const texts = blocks.flatMap((block) => {
    const text = (block as { text?: unknown } | null)?.text;
    return typeof text === "string" ? [text] : [];
  });
  return (
    texts.join("\n") || `the tool reported an error without a text: ${JSON.stringify(result).slice(0, 500)}`
  );
}
