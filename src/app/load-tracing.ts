import type { Config } from "../config/config.ts";
import type { Log } from "../core/log.ts";
import type { ClosableTracing } from "./tracing.ts";

/** Where the settings say that traces go, if anywhere: only then the SDK of OpenTelemetry is loaded. The caller closes it. */
export async function loadTracing(
  { tracing }: Pick<Config, "tracing">,
  log: Log,
): Promise<ClosableTracing | undefined> {
  if (tracing === undefined) return undefined;
  const { createTracing } = await import("./tracing.ts");
  return createTracing(tracing, { log });
}
