import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../src/config/load.ts";
import { resolveTracing } from "../../src/config/tracing.ts";

const AT = "http://127.0.0.1:4318";
const ALL = { isParentBased: true, ratio: 1 };

describe("traces", () => {
  test.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: "  " },
    { OTEL_EXPORTER_OTLP_ENDPOINT: AT, OTEL_SDK_DISABLED: "true" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: AT, OTEL_TRACES_EXPORTER: "none" },
  ])("are not sent with %p", (env) => {
    expect(resolveTracing(env)).toBeUndefined();
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: AT }, `${AT}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${AT}/base/` }, `${AT}/base/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${AT}/in` }, `${AT}/in`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "x", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${AT}/in` }, `${AT}/in`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: AT, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" }, `${AT}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: AT, OTEL_TRACES_EXPORTER: "console,otlp" }, `${AT}/v1/traces`],
  ])("go with %p to %s", (env, url) => {
    expect(resolveTracing(env)).toEqual({ url, faults: [], sampler: ALL });
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere:p4ssword" }, "OTEL_EXPORTER_OTLP_ENDPOINT is no address"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "p4ssword" }, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no address"],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: AT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"',
    ],
  ])("with %p go nowhere, which is said without the value's secrets", (env, fault) => {
    const settings = resolveTracing(env);
    expect(settings?.url).toBeUndefined();
    expect(settings?.faults).toEqual([expect.stringContaining(fault)]);
    expect(settings?.faults.join()).not.toContain("p4ssword");
  });

  test.each([
    ["always_on", undefined, { isParentBased: false, ratio: 1 }, 0],
    ["always_off", undefined, { isParentBased: false, ratio: 0 }, 0],
    ["parentbased_always_off", undefined, { isParentBased: true, ratio: 0 }, 0],
    ["traceidratio", "0.25", { isParentBased: false, ratio: 0.25 }, 0],
    ["parentbased_traceidratio", "0.25", { isParentBased: true, ratio: 0.25 }, 0],
    ["traceidratio", "much", { isParentBased: false, ratio: 1 }, 1],
    ["jaeger_remote", undefined, ALL, 1],
  ] as const)("are sampled by %s with %p", (name, argument, sampler, faults) => {
    const settings = resolveTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: AT,
      OTEL_TRACES_SAMPLER: name,
      OTEL_TRACES_SAMPLER_ARG: argument,
    });
    expect(settings?.sampler).toEqual(sampler);
    expect(settings?.faults).toHaveLength(faults);
  });
});

test("keeps what lets in at a collector from children", () => {
  const { env } = loadConfig({
    HOME: "/home/u",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=secret",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-api-key=secret",
    OTEL_EXPORTER_OTLP_ENDPOINT: AT,
  });
  expect(env).toEqual({ HOME: "/home/u", OTEL_EXPORTER_OTLP_ENDPOINT: AT });
});
