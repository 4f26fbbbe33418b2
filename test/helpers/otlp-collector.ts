/** A span as a collector gets it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** The ids of spans that it is linked to. */
  readonly links: readonly string[];
  readonly ms: number;
}

export interface Collector extends AsyncDisposable {
  readonly origin: string;
  readonly spans: CollectedSpan[];
  /** The headers of each request. */
  readonly requests: Headers[];
}

export interface CollectorOptions {
  /** What it does with a request in place of taking it. */
  readonly answer?: () => Response | Promise<Response>;
}

interface RawValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
type RawAttributes = readonly { readonly key: string; readonly value: RawValue }[];

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes?: RawAttributes;
  readonly status?: { readonly code?: number };
  readonly links?: readonly { readonly spanId: string }[];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface RawTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: RawAttributes };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
}

const KINDS = ["internal", "internal", "server", "client"] as const;
const ERROR = 2;

/** A collector of OTLP over HTTP that reads JSON, as `opentelemetry-collector` does at its port 4318. */
export function startCollector({ answer }: CollectorOptions = {}): Collector {
  const spans: CollectedSpan[] = [];
  const requests: Headers[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      requests.push(request.headers);
      if (answer !== undefined) return answer();
      if (request.method !== "POST" || new URL(request.url).pathname !== "/v1/traces") {
        return new Response(null, { status: 404 });
      }
      if (request.headers.get("content-type") !== "application/json")
        return new Response(null, { status: 415 });
      spans.push(...readSpans((await request.json()) as RawTraces));
      return Response.json({});
    },
  });
  return {
    origin: server.url.origin,
    spans,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function readSpans({ resourceSpans }: RawTraces): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        name: span.name,
        kind: KINDS[span.kind] ?? "internal",
        attributes: readAttributes(span.attributes),
        resource: readAttributes(resource.attributes),
        isError: span.status?.code === ERROR,
        links: (span.links ?? []).map(({ spanId }) => spanId),
        ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      })),
    ),
  );
}

function readAttributes(attributes: RawAttributes = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.doubleValue ?? value.intValue),
    ]),
  );
}
