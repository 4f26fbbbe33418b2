import { expect, test } from "bun:test";
import { currentRun } from "../../src/core/run-context.ts";
import { parseTraceContext, traced } from "../../src/core/tracing.ts";

const GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test.each([
  [GOOD, undefined, { traceparent: GOOD, tracestate: undefined }],
  [GOOD, "a=1,b=2", { traceparent: GOOD, tracestate: "a=1,b=2" }],
  [GOOD, "x".repeat(513), { traceparent: GOOD, tracestate: undefined }],
  [GOOD, 7, { traceparent: GOOD, tracestate: undefined }],
  [GOOD.toUpperCase(), undefined, undefined],
  [`${GOOD}\n`, undefined, undefined],
  [`${GOOD}-${"x".repeat(1000)}`, undefined, undefined],
  [GOOD.replace("00-", "ff-"), undefined, undefined],
  ["00-00000000000000000000000000000000-b7ad6b7169203331-01", undefined, undefined],
  ["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", undefined, undefined],
  ["", undefined, undefined],
  [null, undefined, undefined],
  [{}, undefined, undefined],
])("reads %p with %p as a trace context only where it is one", (traceparent, tracestate, expected) => {
  expect(parseTraceContext(traceparent, tracestate)).toEqual(expected);
});

test("work that nobody traces is done all the same, as a part of nothing", async () => {
  const done = traced(undefined, { name: "s", kind: "internal" }, async (span) => [span, currentRun().trace]);
  expect(await done).toEqual([undefined, undefined]);
});
