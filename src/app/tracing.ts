import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { SamplerSettings, TracingSettings } from "../config/tracing.ts";
import { type Closable, withDeadline } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { createShortId, outsideRuns } from "../core/run-context.ts";
import type { Span, SpanAttributes, SpanOptions, TraceContext, Tracing } from "../core/tracing.ts";
import { VERSION } from "../core/version.ts";

/** Spans that wait to be sent; more are dropped. */
const MAX_WAITING = 2048;
const MAX_ATTRIBUTE_CHARS = 1024;
const MAX_ATTRIBUTES = 32;
const MAX_NAME_CHARS = 200;
/** What the end of the bridge waits for the last spans, and where they could not be sent before. */
const FLUSH_MS = 2000;
const HOPELESS_FLUSH_MS = 250;

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;
const propagator = new W3CTraceContextPropagator();
const texts = {
  get: (carrier: Record<string, string>, key: string) => carrier[key],
  keys: (carrier: Record<string, string>) => Object.keys(carrier),
  set: (carrier: Record<string, string>, key: string, value: string) => {
    carrier[key] = value;
  },
};

/** Closing sends what still waits, for a short while. */
export interface ClosableTracing extends Tracing, Closable {}

/**
 * Sends spans to a collector by OTLP over HTTP, in the background: one that is slow or not there costs no call any time, and is told
 * of once. Beside `settings` the SDK itself reads `OTEL_*` from the environment. The caller closes it. `undefined` where the
 * settings cannot be used, which is said.
 */
export function createTracing(
  { url, faults, sampler }: TracingSettings,
  { log }: { readonly log: Log },
): ClosableTracing | undefined {
  for (const fault of faults) log.warning(fault);
  if (url === undefined) return undefined;
  const exporter = outsideRuns(
    () => new ToldOnceExporter(new OTLPTraceExporter({ url }), new URL(url).origin, log),
  );
  const processor = new BatchSpanProcessor({ exporter, maxQueueSize: MAX_WAITING });
  const provider = new TracerProvider({
    resource: describeProcess(),
    sampler: createSampler(sampler),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS, attributeCountLimit: MAX_ATTRIBUTES },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("sandpy", VERSION);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= withDeadline(
      provider.shutdown(),
      exporter.hasFailed ? HOPELESS_FLUSH_MS : FLUSH_MS,
      "sending the last traces",
    ).catch((error: unknown) => log.debug("the last traces were not sent", { error: String(error) }));
    return closing;
  };
  return {
    start({ name, kind, attributes = {}, parent, link }: SpanOptions): Span {
      const linked = link && trace.getSpanContext(toContext(link));
      const span = tracer.startSpan(
        name.slice(0, MAX_NAME_CHARS),
        {
          kind: KINDS[kind],
          attributes: withoutGaps(attributes),
          links: linked ? [{ context: linked }] : [],
        },
        parent === undefined ? ROOT_CONTEXT : toContext(parent),
      );
      return {
        context: toTraceContext(trace.setSpan(ROOT_CONTEXT, span)),
        rename: (other) => void span.updateName(other.slice(0, MAX_NAME_CHARS)),
        set: (more) => void span.setAttributes(withoutGaps(more)),
        fail: (type) => void span.setAttribute("error.type", type).setStatus({ code: SpanStatusCode.ERROR }),
        // Sending begins with an end: it is nobody's run.
        end: () => outsideRuns(() => span.end()),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Says the first time that spans cannot be sent, and keeps that from the SDK, which would say it each time. */
class ToldOnceExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #origin: string;
  readonly #log: Log;
  #hasFailed = false;

  constructor(inner: SpanExporter, origin: string, log: Log) {
    this.#inner = inner;
    this.#origin = origin;
    this.#log = log;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  export(...[spans, done]: Parameters<SpanExporter["export"]>): void {
    this.#inner.export(spans, ({ code, error }) => {
      if (code !== ExportResultCode.SUCCESS && !this.#hasFailed) {
        this.#hasFailed = true;
        this.#log.warning("traces cannot be sent; what they are of goes on", {
          collector: this.#origin,
          error: error === undefined ? undefined : String(error.message),
        });
      }
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }
}

/** What the environment says counts for more. */
function describeProcess() {
  const own = {
    "service.name": "sandpy",
    "service.version": VERSION,
    "service.instance.id": createShortId(),
  };
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  return defaultResource().merge(resourceFromAttributes(own)).merge(detectResources({ detectors }));
}

function createSampler({ isParentBased, ratio }: SamplerSettings) {
  const root = new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function toContext({ traceparent, tracestate }: TraceContext): Context {
  const carrier = { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
  return propagator.extract(ROOT_CONTEXT, carrier, texts);
}

function toTraceContext(context: Context): TraceContext {
  const carrier: Record<string, string> = {};
  propagator.inject(context, carrier, texts);
  return { traceparent: carrier["traceparent"] ?? "", tracestate: carrier["tracestate"] };
}

function withoutGaps(attributes: SpanAttributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      (pair): pair is [string, string | number | boolean] => pair[1] !== undefined,
    ),
  );
}
