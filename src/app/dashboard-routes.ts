import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { createDashboard, type Dashboard } from "../mcp/dashboard/dashboard.tsx";
import type { SessionBoard } from "../mcp/dashboard/session-board.ts";
import type { HttpRoutes } from "../mcp/http/http-env.ts";
import type { Upstream } from "../upstream/upstream.ts";

export interface DashboardRoutesOptions {
  readonly board: SessionBoard;
  readonly upstream: Pick<Upstream, "health">;
  readonly log: Log;
}

/** Closing ends what the pages hear. */
export interface DashboardRoutes extends Closable {
  readonly routes: HttpRoutes;
}

/** The dashboard, joined with what it shows. The caller closes it. */
export function createDashboardRoutes({ board, upstream, log }: DashboardRoutesOptions): DashboardRoutes {
  const dashboards: Dashboard[] = [];
  const close = async () => {
    await Promise.all(dashboards.map((dashboard) => dashboard.close()));
  };
  return {
    routes(app, { isAuthRequired, identify }) {
      const dashboard = createDashboard({
        source: { board, servers: () => upstream.health() },
        access: { isAuthRequired, identify },
        log,
      });
      dashboards.push(dashboard);
      app.route("/", dashboard.app);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
