import type { BridgeEvents } from "../core/bridge-events.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { HttpRoutes } from "../mcp/http/http-env.ts";
import type { KernelLauncher } from "./kernel-launcher.ts";
import { createMetrics } from "./metrics.ts";
import { createReadiness, respondAlive } from "./readiness.ts";
import type { WarmPool } from "./warm-pool.ts";

export interface HealthRoutesOptions {
  readonly events: BridgeEvents;
  readonly launcher: Pick<KernelLauncher, "probe">;
  readonly pool: Pick<WarmPool, "state" | "warm">;
  /** Whether metrics are for everybody who reaches the address, and not only for those who have a token. */
  readonly isMetricsOpen: boolean;
}

/** Closing ends the counting. */
export interface HealthRoutes extends Closable {
  readonly routes: HttpRoutes;
}

/** `/healthz`, `/readyz` and `/metrics`. Counts from now on; the caller closes it. */
export function createHealthRoutes({
  events,
  launcher,
  pool,
  isMetricsOpen,
}: HealthRoutesOptions): HealthRoutes {
  const metrics = createMetrics({ events, spares: () => (pool.state.spare === "ready" ? 1 : 0) });
  return {
    routes(app, { authenticated, isDraining }) {
      const readiness = createReadiness({
        probe: (signal) => launcher.probe(signal),
        pool: () => pool.state,
        warm: () => pool.warm(),
        isDraining,
      });
      app.get("/healthz", () => respondAlive());
      app.get("/readyz", (c) => {
        c.env?.keepOpen?.(); // an engine may take longer than an idle connection lasts
        return readiness.respond();
      });
      if (isMetricsOpen) app.get("/metrics", () => metrics.respond());
      else app.get("/metrics", authenticated, () => metrics.respond());
    },
    close: () => metrics.close(),
    [Symbol.asyncDispose]: () => metrics.close(),
  };
}
