import { BridgeError } from "./errors.ts";
import { currentRun, withinRun } from "./run-context.ts";

/** The place of a piece of work in a trace, as W3C Trace Context writes it: in headers, and in `_meta` of MCP. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  readonly name: string;
  /** `server`: somebody asked us for it; `client`: we ask somebody for it. */
  readonly kind: "server" | "internal" | "client";
  readonly attributes?: SpanAttributes;
  /** What it is a part of; absent: of what is done now, if anything is. */
  readonly parent?: TraceContext | undefined;
  /** What else it has to do with. */
  readonly link?: TraceContext | undefined;
}

/** One piece of work as a trace shows it. */
export interface Span {
  /** For whom is asked for a part of it. */
  readonly context: TraceContext;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Says that it failed: how, in a word (`error.type`). */
  fail(type: string): void;
  end(): void;
}

/** Where pieces of work are noted down. Never throws, and never waits for who collects them. */
export interface Tracing {
  start(options: SpanOptions): Span;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.{0,256})?$/;
const MAX_TRACESTATE_CHARS = 512;

/** Does `work` as a span; all that it begins is a part of that. A failure is that of the span, and thrown on. */
export async function traced<T>(
  tracing: Tracing | undefined,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return work(undefined);
  const { parent = currentRun().trace } = options;
  const span = tracing.start({ ...options, parent });
  try {
    return await withinRun({ trace: span.context }, () => work(span));
  } catch (error) {
    span.fail(error instanceof BridgeError ? error.code : "INTERNAL");
    throw error;
  } finally {
    span.end();
  }
}

/** Reads what others say; `undefined` where that is no trace context. */
export function parseTraceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  const isState = typeof tracestate === "string" && tracestate.length <= MAX_TRACESTATE_CHARS;
  return { traceparent, tracestate: isState ? tracestate : undefined };
}
